#include "knowledge/trainer.h"

#include <gtest/gtest.h>

namespace aplomb::knowledge {
namespace {

aplomb::record::Run run_with(std::initializer_list<const char*> sources,
                             std::initializer_list<std::pair<const char*, int>> settings) {
  aplomb::record::Run run;
  for (const char* framework : sources) run.sources.push_back({"f", "text_log", 1, framework});
  for (const auto& [framework, count] : settings) {
    for (int i = 0; i < count; ++i) run.settings.push_back({"x", true, "x", framework, {}});
  }
  return run;
}

TEST(TrainerOf, IsEmptyWhereNothingTells) {
  EXPECT_EQ(trainer_of(aplomb::record::Run{}), "");
  EXPECT_EQ(trainer_of(run_with({"", "fsdp"}, {{"environment", 30}, {"hf-model", 20}})), "");
}

TEST(TrainerOf, DoesNotTakeAPartForATrainerHoweverManyKeysItHas) {
  EXPECT_EQ(
      trainer_of(run_with({"hf-trainer"}, {{"fsdp", 40}, {"hf-model", 40}, {"hf-trainer", 9}})),
      "hf-trainer");
}

TEST(TrainerOf, PrefersTheTrainerThatStandsOnTheOther) {
  EXPECT_EQ(trainer_of(run_with({"trl"}, {{"hf-trainer", 12}, {"trl", 2}})), "trl");
}

TEST(TrainerOf, TakesATrainerWithRewardsForTrl) {
  aplomb::record::Run run = run_with({"hf-trainer"}, {{"hf-trainer", 15}});
  record::Series reward;
  reward.name = "reward";
  reward.role = record::Role::reward;
  reward.append(1, 0.5, 0, 1, 1);
  run.series.push_back(reward);
  EXPECT_EQ(trainer_of(run), "trl");
}

TEST(TrainerOf, DoesNotTakeAFewSharedKeysForAnotherTrainer) {
  EXPECT_EQ(trainer_of(run_with({"hf-trainer"}, {{"hf-trainer", 15}, {"axolotl", 5}})),
            "hf-trainer");
}

}  // namespace
}  // namespace aplomb::knowledge

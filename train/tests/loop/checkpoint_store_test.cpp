#include "train/loop/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/folder.h"
#include "train/loop/atomic_folder.h"
#include "train/loop/training_state.h"

namespace aplomb::train::loop {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

core::Result<void> write_state(const std::string& folder) {
  return write_synced(folder + "/" + k_training_state_file, "{}");
}

void save_all(const CheckpointStore& store, std::initializer_list<std::int64_t> steps,
              std::int64_t best = -1) {
  for (const std::int64_t step : steps) ASSERT_TRUE(store.save(step, best, write_state));
}

TEST(CheckpointStore, KeepsTheLatestAndTheBest) {
  const test::Folder place;
  const CheckpointStore store(place / "", 2);
  save_all(store, {10, 20, 30, 40, 100}, 20);
  EXPECT_THAT(store.steps(), ElementsAre(20, 40, 100));
  const CheckpointStore all(place / "all", 0);
  save_all(all, {1, 2, 3, 4, 5});
  EXPECT_EQ(all.steps().size(), 5U);
}

TEST(CheckpointStore, ARunThatWentBackKeepsItsOwnNewestOne) {
  const test::Folder place;
  const CheckpointStore store(place / "", 2);
  save_all(store, {100, 200, 120});
  EXPECT_THAT(store.steps(), ElementsAre(100, 120));
}

TEST(CheckpointStore, AFailedSaveLeavesTheEarlierOnes) {
  const test::Folder place;
  const CheckpointStore store(place / "", 1);
  save_all(store, {10});
  const auto failed = store.save(20, -1, [](const std::string& folder) -> core::Result<void> {
    (void)write_state(folder);
    return write_synced("/dev/full", "x");
  });
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().text, HasSubstr("the disk is full"));
  EXPECT_THAT(store.steps(), ElementsAre(10));
  EXPECT_EQ(std::distance(fs::directory_iterator(place / ""), {}), 1);
}

TEST(CheckpointStore, AutoFindsTheLatestWholeOne) {
  const test::Folder place;
  const CheckpointStore store(place / "", 0);
  EXPECT_EQ(*store.find("auto"), std::nullopt);
  EXPECT_EQ(*store.find(""), std::nullopt);
  save_all(store, {9, 10});
  fs::create_directories(place / "checkpoint-11");           // not whole
  fs::create_directories(place / "checkpoint-12.tmp-4711");  // left by a killed process
  fs::create_directories(place / "checkpoint-x");
  EXPECT_EQ(*store.find("auto"), store.path_of(10));
  EXPECT_EQ(*store.find(store.path_of(9)), store.path_of(9));
  EXPECT_THAT(store.find(place / "checkpoint-11").error().text, HasSubstr("no checkpoint"));
  EXPECT_EQ(store.find(place / "none").error().code, core::ErrorCode::not_found);
}

TEST(TrainingState, KeepsEveryBit) {
  TrainingState state;
  state.step = 123;
  state.total_steps = 1000;
  state.data = {3, 17};
  state.data_fingerprint = 0xFFFFFFFFFFFFFFFFULL;
  state.loss_scale = 0.1 + 0.2;
  state.best_eval_loss = 1.0 / 3;
  state.best_step = 100;
  state.attention = "sdpa";
  for (int i = 0; i < 256; ++i) state.guard += static_cast<char>(i);
  state.rng["cpu"] = std::string("\0\xFF\n\"", 4);
  const test::Folder place;
  const auto back = read_training_state(place.write("s.json", training_state_json(state)));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(*back, state);
}

TEST(TrainingState, DamageIsAnErrorWithTheFileItIsIn) {
  const test::Folder place;
  std::string text = training_state_json({});
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3})
    EXPECT_THAT(read_training_state(place.write("s.json", text.substr(0, cut))).error().text,
                HasSubstr("s.json"));
  text.replace(text.find("\"step\": 0"), 9, "\"step\": -1");
  EXPECT_FALSE(read_training_state(place.write("s.json", text)));
}

}  // namespace
}  // namespace aplomb::train::loop

#include "api/resume_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>

#include "core/folder.h"

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using ::testing::HasSubstr;

/// A run of the Trainer with a checkpoint at each of these steps.
void make_run(const Folder& folder, std::initializer_list<int> steps) {
  const fs::path from = APLOMB_SOURCE_DIR "/examples/bf16-frozen-norms/checkpoint-400";
  fs::create_directories(folder / "out");
  for (const int step : steps)
    fs::copy(from, folder / ("out/checkpoint-" + std::to_string(step)),
             fs::copy_options::recursive);
  fs::copy(from / "model.safetensors", folder / "out/model.safetensors");
}

std::string state(int step, const std::string& rest) {
  return R"({"best_metric": null, "global_step": )" + std::to_string(step) +
         R"(, "max_steps": 1000)" + rest + "}";
}

/// NaN where the first element of the weights lies.
void poison(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::uint64_t head = 0;
  file.read(reinterpret_cast<char*>(&head), sizeof head);
  file.seekp(static_cast<std::streamoff>(8 + head));
  file.write("\xc0\x7f", 2);
}

/// The names of the folders that were chosen, and why each newer one was left.
std::string name_of(const ResumeChoice& choice, const std::optional<std::size_t>& index) {
  return index ? fs::path(choice.candidates[*index].path).filename().string() : "none";
}
std::string why(const ResumeChoice& choice, std::size_t index) {
  std::string all;
  for (const std::string& each : choice.candidates.at(index).why_left) all += each + "\n";
  return all;
}

TEST(ResumeChoice, TheNewestIsTakenWhereNothingIsWrongWithIt) {
  const Folder folder;
  make_run(folder, {200, 900, 1000});
  const auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->resume), "checkpoint-1000");
  EXPECT_EQ(choice->candidates.size(), 3U);
  EXPECT_FALSE(choice->candidates[1].judged);
}

TEST(ResumeChoice, EachNewerOneSaysWhyItIsLeft) {
  const Folder folder;
  make_run(folder, {100, 200, 300, 400, 500, 600, 700});
  const std::string proof = folder / "ran";
  fs::resize_file(folder / "out/checkpoint-700/model.safetensors", 5000);
  poison(folder / "out/checkpoint-600/model.safetensors");
  folder.write("out/checkpoint-500/extra.pt",
               "\x80\x02"
               "cposix\nsystem\n(X" +
                   std::string(1, static_cast<char>(6 + proof.size())) + std::string(3, '\0') +
                   "touch " + proof + "tR.");
  fs::remove(folder / "out/checkpoint-400/optimizer.pt");
  fs::remove(folder / "out/checkpoint-300/rng_state.pth");
  folder.write("out/checkpoint-200/trainer_state.json", state(200, R"(, "log_history": [{"st)"));
  const auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->resume), "checkpoint-100");
  EXPECT_THAT(why(*choice, 0), HasSubstr("checkpoint.truncated"));
  EXPECT_THAT(why(*choice, 1), HasSubstr("NaN or Inf"));
  EXPECT_THAT(why(*choice, 2), HasSubstr("pickle.dangerous"));
  EXPECT_THAT(why(*choice, 3), HasSubstr("optimizer is missing"));
  EXPECT_THAT(why(*choice, 4), HasSubstr("rng is missing"));
  EXPECT_THAT(why(*choice, 5), HasSubstr("no whole JSON"));
  EXPECT_FALSE(fs::exists(proof));
}

TEST(ResumeChoice, AShardThatTheIndexNamesHasToBeThere) {
  const Folder folder;
  make_run(folder, {100, 200});
  fs::rename(folder / "out/checkpoint-200/model.safetensors",
             folder / "out/checkpoint-200/model-00001-of-00002.safetensors");
  folder.write("out/checkpoint-200/model.safetensors.index.json",
               R"({"weight_map":{"a":"model-00001-of-00002.safetensors",)"
               R"("b":"model-00002-of-00002.safetensors"}})");
  const auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->resume), "checkpoint-100");
  EXPECT_THAT(why(*choice, 0), HasSubstr("model-00002-of-00002.safetensors"));
}

TEST(ResumeChoice, TheBestIsTheTrainersOrThatOfTheLowestEvalLoss) {
  const Folder folder;
  make_run(folder, {100, 200, 300});
  folder.write("out/checkpoint-300/trainer_state.json",
               state(300, R"(, "log_history": [{"step": 100, "eval_loss": 2.5},)"
                          R"({"step": 200, "eval_loss": 1.5, "loss": NaN},)"
                          R"({"step": 300, "eval_loss": NaN}])"));
  auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->best), "checkpoint-200");
  EXPECT_TRUE(choice->candidates[*choice->best].judged);
  EXPECT_THAT(choice->best_because, HasSubstr("1.5"));
  folder.write("out/checkpoint-300/trainer_state.json",
               R"({"best_metric": 0.91, "best_model_checkpoint": "/mnt/x/out/checkpoint-100",)"
               R"( "global_step": 300, "max_steps": 1000})");
  choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->best), "checkpoint-100");
  EXPECT_THAT(choice->best_because, HasSubstr("0.91"));
}

TEST(ResumeChoice, WhereNoneCanBeResumedFromTheNewestGoodWeightsAreNamed) {
  const Folder folder;
  make_run(folder, {100, 200, 300});
  for (const char* step : {"100", "200", "300"})
    fs::remove(folder / (std::string("out/checkpoint-") + step + "/optimizer.pt"));
  poison(folder / "out/checkpoint-300/model.safetensors");
  const auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->resume);
  EXPECT_EQ(name_of(*choice, choice->weights_alone), "checkpoint-200");
}

TEST(ResumeChoice, TheRunThatWasWrittenLastIsTheOneAndACheckpointIsARunOfOne) {
  const Folder folder;
  make_run(folder, {100});
  fs::create_directories(folder / "all");
  fs::rename(folder / "out", folder / "all/first");
  make_run(folder, {50});
  fs::rename(folder / "out", folder / "all/second");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder / "all/first/checkpoint-100", now - std::chrono::hours(5));
  fs::last_write_time(folder / "all/second/checkpoint-50", now);
  const auto choice = choose_resume(folder / "all");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->resume), "checkpoint-50");
  EXPECT_EQ(choice->elsewhere.size(), 1U);
  const auto one = choose_resume(folder / "all/first/checkpoint-100");
  ASSERT_TRUE(one);
  EXPECT_EQ(name_of(*one, one->resume), "checkpoint-100");
  EXPECT_FALSE(choose_resume(folder / "nowhere"));
}

TEST(ResumeChoice, AFolderThatWasNotFinishedIsLeft) {
  const Folder folder;
  make_run(folder, {100, 200});
  fs::rename(folder / "out/checkpoint-200", folder / "out/tmp-checkpoint-200");
  const auto choice = choose_resume(folder / "out");
  ASSERT_TRUE(choice);
  EXPECT_EQ(name_of(*choice, choice->resume), "checkpoint-100");
  EXPECT_THAT(why(*choice, 0), HasSubstr("not finished"));
}

}  // namespace
}  // namespace aplomb::api

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

constexpr const char* k_weights = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

/// A checkpoint with this file beside one weight.
Checkpoint with_file(const std::string& name, std::string_view text) {
  const test::Folder folder;
  folder.write("c/model.safetensors", test::safetensors(k_weights, test::raw<float>({1})));
  folder.write("c/" + name, text);
  auto checkpoint = open_checkpoint(folder / "c");
  EXPECT_TRUE(checkpoint) << name;
  return checkpoint ? std::move(*checkpoint) : Checkpoint{};
}

constexpr std::string_view k_trainer_state = R"({
  "best_metric": null, "epoch": 0.5, "global_step": 500,
  "is_local_process_zero": true,
  "log_history": [
    {"epoch": 0.1, "grad_norm": NaN, "learning_rate": 3e-05, "loss": 2.31, "step": 100},
    {"epoch": 0.2, "grad_norm": 1.5, "learning_rate": 2e-05, "loss": 2.30, "step": 200},
    {"epoch": 0.3, "eval_loss": 2.5, "step": 300},
    {"epoch": 0.5, "grad_norm": 1.5, "learning_rate": 1e-05, "loss": 2.29, "step": 500}
  ],
  "max_steps": 1000, "train_batch_size": 8})";

TEST(JsonState, TheTrainersNumbersAndItsTwoNewestLearningRatesAreTaken) {
  const Checkpoint checkpoint = with_file("trainer_state.json", k_trainer_state);
  const std::map<std::string, double> want = {{"epoch", 0.5},           {"global_step", 500},
                                              {"max_steps", 1000},      {"train_batch_size", 8},
                                              {"last_logged_lr", 1e-5}, {"lr_logged_before", 2e-5}};
  EXPECT_EQ(checkpoint.trainer_state, want);
  EXPECT_TRUE(checkpoint.has(FileRole::trainer_state));
}

TEST(JsonState, OfATornFileWhatStandsBeforeTheTearIsTaken) {
  const std::size_t tear = k_trainer_state.find("{\"epoch\": 0.3");
  const Checkpoint checkpoint = with_file("trainer_state.json", k_trainer_state.substr(0, tear));
  EXPECT_EQ(checkpoint.trainer_state.at("global_step"), 500);
  EXPECT_EQ(checkpoint.trainer_state.at("last_logged_lr"), 2e-5);
  EXPECT_EQ(checkpoint.trainer_state.count("max_steps"), 0U);
}

/// `"step": 100` in a text is no member, and the number of a nested part is not the model's own.
TEST(JsonState, NumbersInTextsAreNoneAndTheOutermostObjectSpeaksForItself) {
  const Checkpoint plain = with_file(
      "config.json",
      R"({"note": "\"hidden_size\": 7, ", "vision_config": {"hidden_size": 16, "vocab_size": 5},
          "text_config": {"num_hidden_layers": 4}, "hidden_size": 64,
          "tie_word_embeddings": true, "vocab_size": "32000"})");
  const std::map<std::string, double> want = {
      {"hidden_size", 64}, {"num_hidden_layers", 4}, {"tie_word_embeddings", 1}, {"vocab_size", 5}};
  EXPECT_EQ(plain.config, want);
}

TEST(JsonState, AnEmptyFileIsSaidAndNestingOfAnyDepthIsWalked) {
  const Checkpoint empty = with_file("trainer_state.json", "");
  ASSERT_EQ(empty.findings.size(), 1U);
  EXPECT_THAT(empty.findings[0].text, HasSubstr("is empty"));
  EXPECT_FALSE(empty.has(FileRole::trainer_state));
  const Checkpoint deep = with_file("config.json", std::string(1'000'000, '[') + "7");
  EXPECT_TRUE(deep.config.empty());
}

}  // namespace
}  // namespace aplomb::checkpoint

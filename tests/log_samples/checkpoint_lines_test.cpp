#include "log_samples/checkpoint_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_text/line_feed.h"

namespace aplomb::log_samples {
namespace {

std::string told(const std::vector<std::string>& lines) {
  std::string found;
  for (const record::Event& event : log_text::test::events_of_lines<CheckpointLines>(lines))
    found += core::show(event.caught.at("loaded")) + " of " + core::show(event.caught.at("newest"));
  return found;
}

TEST(CheckpointLines, AnOlderOneIsLoaded) {
  EXPECT_EQ(told({"step 900 val 2.1, saved ckpt/step_900",
                  "step 1200 val 2.0, saved ckpt/step_1200", "loaded ckpt/step_900"}),
            "900 of 1200");
  EXPECT_EQ(
      told({"Saving model checkpoint to out/checkpoint-800",
            "Saving model checkpoint to out/checkpoint-1000", "Resuming from out/checkpoint-800"}),
      "800 of 1000");
}

TEST(CheckpointLines, TheNewestTheBestAndAnotherFamilyAreNone) {
  EXPECT_EQ(told({"saved ckpt/step_900", "saved ckpt/step_1200", "loaded ckpt/step_1200"}), "");
  EXPECT_EQ(told({"saved ckpt/step_900", "saved ckpt/step_1200",
                  "Loading best model from ckpt/step_900 (score: 0.3)"}),
            "");
  EXPECT_EQ(told({"saved run_b/step_1200", "loaded run_a/step_900"}), "");
  EXPECT_EQ(told({"saved last.pt", "loaded last.pt"}), "");
}

}  // namespace
}  // namespace aplomb::log_samples

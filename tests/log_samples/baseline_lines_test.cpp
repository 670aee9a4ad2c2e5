#include "log_samples/baseline_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_text/line_feed.h"

namespace aplomb::log_samples {
namespace {

std::vector<std::string> told(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (const record::Event& event : log_text::test::events_of_lines<BaselineLines>(lines))
    found.push_back(core::show(event.caught.at("name_text")) + " " +
                    core::show(event.caught.at("value")));
  return found;
}

using Told = std::vector<std::string>;

TEST(BaselineLines, TheMeasureAndItsNumber) {
  EXPECT_EQ(told({"mean-image baseline mse on val: 0.0740"}), Told{"mse 0.074"});
  EXPECT_EQ(told({"baseline order-up-to-32 policy: ep_return 100.41"}), Told{"ep_return 100.41"});
  EXPECT_EQ(told({"Seasonal naive MAE 0.136"}), Told{"mae 0.136"});
  EXPECT_EQ(told({"majority class accuracy = 0.612"}), Told{"accuracy 0.612"});
  EXPECT_EQ(told({"random policy return -21.5"}), Told{"return -21.5"});
}

TEST(BaselineLines, CountsAndOtherWordsAreNone) {
  EXPECT_EQ(told({"baseline run of 20 steps"}), Told{});
  EXPECT_EQ(told({"baseline"}), Told{});
  EXPECT_EQ(told({"step 10 loss 0.5"}), Told{});
  EXPECT_EQ(told({"baselines3 version 2.4"}), Told{});
}

}  // namespace
}  // namespace aplomb::log_samples

#include "log_text/length_counts.h"

#include <gtest/gtest.h>

#include "log_text/line_feed.h"

namespace aplomb::log_text {
namespace {

double real_share(const std::vector<std::string>& lines) {
  const auto events = test::events_of_lines<LengthCounts>(lines);
  if (events.empty()) return 1;
  EXPECT_EQ(events[0].kind, "padding-counted");
  return *core::as_number(events[0].caught.at("real_share"));
}

TEST(LengthCounts, ShortSamplesInLongBatches) {
  EXPECT_NEAR(real_share({"words per ticket: mean 12.6, longest 17",
                          "step 0 input (16, 384) fwd+bwd 0.41s"}),
              12.6 * 1.5 / 384, 1e-9);
  EXPECT_NEAR(real_share({"avg token length 18.0", "input_ids shape torch.Size([8, 512])"}),
              18.0 / 512, 1e-9);
}

TEST(LengthCounts, RealTokensOfAStep) {
  EXPECT_NEAR(real_share({"step 4 loss 4.324 | batch (4, 512) | 72 tokens/step | 46 tok/s"}),
              72.0 / 2048, 1e-9);
}

TEST(LengthCounts, AShareThatIsPrinted) {
  EXPECT_NEAR(real_share({"pad fraction 0.93"}), 0.07, 1e-9);
  EXPECT_NEAR(real_share({"padding ratio: 91% of all positions"}), 0.09, 1e-9);
}

TEST(LengthCounts, BatchesOfTheLengthOfTheirSamplesAreSilent) {
  EXPECT_EQ(real_share({"words per ticket: mean 200, longest 280", "input (16, 384)"}), 1);
  EXPECT_EQ(real_share({"tokens per sample: mean 30, max 250", "batch (8, 256)"}), 1)
      << "the longest needs it";
  EXPECT_EQ(real_share({"batch (4, 512) | 1990 tokens/step"}), 1);
  EXPECT_EQ(real_share({"pad fraction 0.12"}), 1);
}

TEST(LengthCounts, ImagesAndNumbersAreNoLengths) {
  EXPECT_EQ(real_share({"images (3, 224, 224) batch 16", "mean 0.45 std 0.22"}), 1);
  EXPECT_EQ(real_share({"vocabulary: 500 words, mean frequency 3.1", "weights (256, 512)"}), 1);
}

}  // namespace
}  // namespace aplomb::log_text

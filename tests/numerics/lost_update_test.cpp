#include "numerics/lost_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aplomb::numerics {
namespace {

TEST(LostUpdate, ANormWeightOfOneInBf16NeverSeesAnAdamStepOfOneInTenThousand) {
  EXPECT_TRUE(is_lost(Format::bf16, 1.0, 1.0 - 1e-4));
  EXPECT_TRUE(is_lost(Format::bf16, 1.0, 1.0 + 3e-3));
  EXPECT_FALSE(is_lost(Format::bf16, 1.0, 1.0 - 3e-3));  // below 1.0 the values lie twice as dense
  EXPECT_FALSE(is_lost(Format::fp32, 1.0, 1.0 - 1e-4));
  EXPECT_FALSE(is_lost(Format::bf16, 0.02, 0.02 - 1e-4));
  EXPECT_FALSE(is_lost(Format::bf16, 1.0, 1.0));
}

TEST(LostUpdate, TheLargestLostUpdateIsTheBoundOnBothSides) {
  for (const double weight : {1.0, 1.5, -1.0, 0.7265625, 0.02001953125, -0.0078125}) {
    for (const bool down : {true, false}) {
      const double bound = largest_lost_update(Format::bf16, weight, down);
      const double sign = down ? -1 : 1;
      EXPECT_TRUE(is_lost(Format::bf16, weight, weight + sign * bound * 0.999)) << weight;
      EXPECT_FALSE(is_lost(Format::bf16, weight, weight + sign * bound * 1.001)) << weight;
    }
  }
}

TEST(LostUpdate, AdamFollowsTheTextbookAtTheFirstStep) {
  // At step 1 the corrections undo the averages: the update is lr * sign(g), eps aside.
  AdamHyper hyper;
  hyper.lr = 3e-4;
  const double gradient = 0.37;
  const double update =
      adam_update(hyper, (1 - hyper.beta1) * gradient, (1 - hyper.beta2) * gradient * gradient);
  EXPECT_NEAR(update, 3e-4, 1e-10);
  hyper.weight_decay = 0.1;
  EXPECT_NEAR(adam_next(hyper, 2.0, 0, 0), 2.0 * (1 - 3e-5), 1e-15);
}

TEST(LostUpdate, ATensorOfNormWeightsIsLostAndOneOfSmallWeightsMostlyNot) {
  const std::size_t count = 4096;
  std::vector<float> norm(count, 1.0F);
  std::vector<float> small(count);
  std::vector<float> first(count);
  std::vector<float> second(count, 1e-6F);
  for (std::size_t i = 0; i < count; ++i) {
    small[i] =
        static_cast<float>(round_to(Format::bf16, 0.02 * std::sin(static_cast<double>(i) + 0.5)));
    first[i] = (i % 2 == 0 ? 1e-3F : -1e-3F);
  }
  AdamHyper hyper;
  hyper.lr = 1e-4;
  hyper.step = 1000;
  EXPECT_EQ(lost_updates(Format::bf16, hyper, norm, first, second).lost_frac(), 1.0);
  EXPECT_EQ(lost_updates(Format::fp32, hyper, norm, first, second).lost_frac(), 0.0);
  EXPECT_LT(lost_updates(Format::bf16, hyper, small, first, second).lost_frac(), 0.1);
}

}  // namespace
}  // namespace aplomb::numerics

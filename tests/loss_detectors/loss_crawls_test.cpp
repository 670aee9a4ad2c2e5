#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

TEST(LossCrawl, AStraightLineThatIsFarFromDone) {
  Draw draw(42);
  const auto losses =
      curve(80, [](double i) { return 5.54 - 0.004 * i; }, [&] { return 0.02 * draw.normal(); });
  const auto symptoms = RunOf()
                            .set("model.vocab_size", 256.0)
                            .set("train.method", std::string("pretrain"))
                            .loss(losses, 5)
                            .with("lr", record::Role::lr, std::vector<double>(80, 1e-6), 5)
                            .detect();
  const detectors::Symptom* crawls = find(symptoms, "loss.crawls");
  ASSERT_NE(crawls, nullptr) << told(symptoms);
  EXPECT_EQ(crawls->severity, core::Severity::warning);
  EXPECT_NEAR(number(crawls, "fall_frac"), 0.053, 0.01);
}

TEST(LossCrawl, ADecayIsReckonedWith) {
  std::vector<double> losses;
  std::vector<double> rates;
  double loss = 5.54;
  for (int i = 0; i < 80; ++i) {
    rates.push_back(1e-6 * (1 - i / 80.0));
    losses.push_back(loss -= 8000 * rates.back());
  }
  EXPECT_TRUE(
      has(RunOf().loss(losses, 5).with("lr", record::Role::lr, rates, 5).detect(), "loss.crawls"));
}

TEST(LossCrawl, IsSilentWhereTheFirstStepsGainMost) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draw draw(seed);
    const auto losses = curve(
        100, [](double i) { return power_law(i, 5.5, 4.6); }, [&] { return 0.03 * draw.normal(); });
    EXPECT_FALSE(has(RunOf().loss(losses, 5).detect(), "loss.crawls")) << seed;
  }
  Draw draw(43);
  const auto flat = curve(100, [](double) { return 2.0; }, [&] { return 0.05 * draw.normal(); });
  EXPECT_FALSE(has(RunOf().loss(flat, 5).detect(), "loss.crawls"));
}

}  // namespace
}  // namespace aplomb::testing

#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

TEST(Completions, AllCutAndNoneRewardedIsUnstable) {
  const auto symptoms = RunOf()
                            .with("reward", record::Role::reward, {0, 0, 0, 0})
                            .with("cut", record::Role::completion_clipped_ratio, {1, 1, 1, 1})
                            .with("length", record::Role::completion_length, {256, 256, 256, 256})
                            .detect();
  EXPECT_EQ(find(symptoms, "completion.truncated")->severity, core::Severity::unstable);
  EXPECT_TRUE(flag(find(symptoms, "completion.truncated"), "for_nothing"));
}

TEST(Completions, LengthsThatGrowToTheLimitAreAWarningOthersANote) {
  std::vector<double> length;
  std::vector<double> cut;
  for (int i = 0; i < 40; ++i) {
    length.push_back(300 + 40.0 * i);
    cut.push_back(i > 30 ? 0.95 : 0.05);
  }
  RunOf both;
  both.with("length", record::Role::completion_length, length)
      .with("cut", record::Role::completion_clipped_ratio, cut);
  EXPECT_EQ(find(both.detect(), "completion_length.growth")->severity, core::Severity::warning);
  const auto alone = RunOf().with("length", record::Role::completion_length, length).detect();
  EXPECT_EQ(find(alone, "completion_length.growth")->severity, core::Severity::note);
}

TEST(Completions, LengthsThatShrinkToNothingAreUnstable) {
  std::vector<double> length;
  for (int i = 0; i < 30; ++i) length.push_back(std::max(2.5, 53 * std::exp(-0.2 * i)));
  const auto symptoms = RunOf().with("length", record::Role::completion_length, length).detect();
  EXPECT_EQ(find(symptoms, "completion_length.collapse")->severity, core::Severity::unstable);
}

TEST(Completions, ShortOnesThatBecomeEmptyHaveCollapsed) {
  std::vector<double> length(10, 3.2);
  length.resize(40, 1.1);  // the end token, and now and then another
  const auto symptoms = RunOf().with("length", record::Role::completion_length, length).detect();
  EXPECT_NE(find(symptoms, "completion_length.collapse"), nullptr) << told(symptoms);
  std::fill(length.begin() + 10, length.end(), 1.8);
  const auto shorter = RunOf().with("length", record::Role::completion_length, length).detect();
  EXPECT_EQ(find(shorter, "completion_length.collapse"), nullptr) << told(shorter);
}

TEST(Completions, WhereTheRewardIsLowerTheMoreAreCutTheLimitIsTooShort) {
  for (const double paid : {-1.0, 0.0}) {
    Draw draw(7);
    std::vector<double> cut;
    std::vector<double> reward;
    for (int i = 0; i < 40; ++i) {
      cut.push_back(0.5 + 0.2 * std::sin(1.7 * i));
      reward.push_back(0.9 + paid * cut.back() + 0.05 * draw.normal());
    }
    const auto symptoms = RunOf()
                              .with("reward", record::Role::reward, reward)
                              .with("cut", record::Role::completion_clipped_ratio, cut)
                              .detect();
    const detectors::Symptom* truncated = find(symptoms, "completion.truncated");
    EXPECT_EQ(truncated != nullptr, paid < 0) << told(symptoms);
    if (truncated != nullptr) {
      EXPECT_EQ(truncated->severity, core::Severity::warning);
    }
  }
}

TEST(Completions, SteadyLengthsAndNaNAreSilent) {
  Draw draw(1);
  auto length = curve(60, [](double) { return 400; }, [&] { return 40 * draw.normal(); });
  length[7] = k_nan;
  const auto symptoms =
      RunOf()
          .with("length", record::Role::completion_length, length)
          .with("cut", record::Role::completion_clipped_ratio, std::vector<double>(60, 0.1))
          .detect();
  EXPECT_TRUE(symptoms.empty()) << told(symptoms);
}

}  // namespace
}  // namespace aplomb::testing

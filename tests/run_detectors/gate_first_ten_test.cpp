#include <gtest/gtest.h>

#include "detection/bank.h"
#include "detection/feed.h"

namespace aplomb::testing {
namespace {

const std::vector<double> k_good{2.347, 2.298, 2.241, 2.2, 2.15, 2.087, 2.05, 2.0, 1.96, 1.923};

TEST(FirstTen, AGoodStartPasses) {
  const auto symptoms = RunOf().loss(k_good).grad_norm(std::vector<double>(10, 0.7)).detect();
  const detectors::Symptom* gate = find(symptoms, "gate.first_ten");
  ASSERT_NE(gate, nullptr);
  EXPECT_TRUE(flag(gate, "passed"));
  EXPECT_TRUE(flag(gate, "norm_in_range"));
}

TEST(FirstTen, ZeroNaNAndRiseDoNotPass) {
  auto zero = k_good;
  zero[1] = 0;
  auto nan = k_good;
  nan[4] = k_nan;
  std::vector<double> rise{2, 2.1, 2.2, 3, 5, 9, 12, 14, 15, 16};
  for (const auto& loss : {zero, nan, rise}) {
    const detectors::Symptom gate = *find(RunOf().loss(loss).detect(), "gate.first_ten");
    EXPECT_FALSE(flag(&gate, "passed")) << gate.summary;
    EXPECT_EQ(gate.severity, core::Severity::warning);
  }
}

TEST(FirstTen, ALogThatBeginsLaterHasNoFirstTen) {
  EXPECT_FALSE(has(RunOf().loss(k_good, 1, 40000).detect(), "gate.first_ten"));
}

TEST(FirstTen, IsToldAtTheTenthRecord) {
  detectors::RunContext context;
  context.series_names = {"loss"};
  detection::DetectorBank bank(context);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(has(bank.so_far(), "gate.first_ten"));
    const detectors::Reading reading{record::Role::loss, 0, k_good[i], {}};
    bank.observe({static_cast<std::int64_t>(i), 0, {&reading, 1}});
  }
  EXPECT_TRUE(has(bank.so_far(), "gate.first_ten"));
}

}  // namespace
}  // namespace aplomb::testing

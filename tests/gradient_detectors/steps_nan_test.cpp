#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<detectors::Symptom> of(const std::vector<double>& counts, const char* name) {
  return RunOf().with(name, record::Role::nan_count, counts).detect();
}

TEST(StepsNan, MoreAndMoreOfEachIntervalAreSystematic) {
  std::vector<double> counts(300, 0);
  for (std::size_t i = 150; i < 300; ++i) counts[i] = static_cast<double>((i - 150) / 50);
  const auto symptoms = of(counts, "nan_in_interval");
  const detectors::Symptom* found = find(symptoms, "steps.nan");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_EQ(number(found, "count"), 150);
}

TEST(StepsNan, TheFirstOneAndTheirNumberAreTold) {
  std::vector<double> counts(200, 0);
  counts[60] = 1;
  const auto symptoms = of(counts, "nan_in_interval");
  const detectors::Symptom* found = find(symptoms, "steps.nan");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_EQ(number(found, "count"), 1);
}

TEST(StepsNan, ARunningCountIsNotAddedUp) {
  std::vector<double> counts(200, 2);
  counts[0] = 0;
  const auto symptoms = of(counts, "nan_count");
  EXPECT_EQ(number(find(symptoms, "steps.nan"), "count"), 2);
}

TEST(StepsNan, NoneIsSilent) { EXPECT_TRUE(of(std::vector<double>(200, 0), "nan_count").empty()); }

}  // namespace
}  // namespace aplomb::testing

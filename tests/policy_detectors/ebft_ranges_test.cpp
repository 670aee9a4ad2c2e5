#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

TEST(Ebft, ValuesThatStayOutsideTheirRangesAreTold) {
  const std::size_t n = 15;
  const auto symptoms = RunOf()
                            .with("alignment", record::Role::alignment, std::vector<double>(n, 0.1))
                            .with("diversity", record::Role::diversity, std::vector<double>(n, 1.6))
                            .with("cfm_loss", record::Role::cfm_loss, std::vector<double>(n, 25))
                            .detect();
  EXPECT_EQ(find(symptoms, "ebft.alignment_low")->severity, core::Severity::warning);
  EXPECT_EQ(find(symptoms, "ebft.diversity_high")->severity, core::Severity::unstable);
  EXPECT_EQ(find(symptoms, "ebft.cfm_high")->severity, core::Severity::unstable);
}

TEST(Ebft, ARunOnItsWayIntoTheRangeIsANote) {
  std::vector<double> alignment;
  for (int i = 0; i < 15; ++i) alignment.push_back(0.05 + 0.012 * i);
  const auto symptoms = RunOf().with("alignment", record::Role::alignment, alignment).detect();
  EXPECT_EQ(find(symptoms, "ebft.alignment_low")->severity, core::Severity::note);
  EXPECT_TRUE(flag(find(symptoms, "ebft.alignment_low"), "improving"));
}

TEST(Ebft, HealthyValuesAndNaNAreSilent) {
  std::vector<double> alignment(20, 0.6);
  alignment[3] = k_nan;
  const auto symptoms =
      RunOf()
          .with("alignment", record::Role::alignment, alignment)
          .with("diversity", record::Role::diversity, std::vector<double>(20, 0.05))
          .with("cfm_loss", record::Role::cfm_loss, std::vector<double>(20, 4))
          .detect();
  EXPECT_FALSE(has(symptoms, "ebft.alignment_low"));
  EXPECT_FALSE(has(symptoms, "ebft.diversity_high"));
  EXPECT_FALSE(has(symptoms, "ebft.cfm_high"));
}

}  // namespace
}  // namespace aplomb::testing

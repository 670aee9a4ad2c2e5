#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> losses(std::size_t jump, std::size_t count, double after) {
  Draw draw(5);
  return curve(
      count, [&](double i) { return i < static_cast<double>(jump) ? 1.4 : after; },
      [&] { return 0.03 * draw.normal(); });
}

std::vector<double> norms(std::size_t rise, std::size_t jump, std::size_t count) {
  Draw draw(6);
  std::vector<double> all;
  double level = 0.65;
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= rise && i < jump) level *= 1.4;
    all.push_back(level * (1 + 0.05 * draw.normal()));
  }
  return all;
}

TEST(NormLead, ARiseBeforeTheJumpIsToldWithItsFirstStep) {
  const auto symptoms =
      RunOf().loss(losses(150, 200, 6.5)).grad_norm(norms(140, 150, 200)).detect();
  const detectors::Symptom* lead = find(symptoms, "grad_norm.leads");
  ASSERT_NE(lead, nullptr) << told(symptoms);
  EXPECT_EQ(number(lead, "jump_step"), 150);
  EXPECT_NEAR(number(lead, "step"), 140, 1);
  EXPECT_NEAR(number(lead, "lead"), 10, 1);
}

TEST(NormLead, ARiseBeforeANanIsToldLikewise) {
  std::vector<double> loss = losses(150, 150, 1.4);
  std::vector<double> norm = norms(142, 150, 150);
  loss.push_back(k_nan);
  norm.push_back(k_nan);
  const auto symptoms = RunOf().loss(loss).grad_norm(norm).detect();
  EXPECT_EQ(number(find(symptoms, "grad_norm.leads"), "jump_step"), 150) << told(symptoms);
}

TEST(NormLead, AJumpWithoutARiseAndARunWithoutAJumpHaveNone) {
  EXPECT_FALSE(has(RunOf().loss(losses(150, 200, 6.5)).grad_norm(norms(500, 150, 200)).detect(),
                   "grad_norm.leads"));
  EXPECT_FALSE(has(RunOf().loss(losses(500, 200, 6.5)).grad_norm(norms(500, 150, 200)).detect(),
                   "grad_norm.leads"));
}

}  // namespace
}  // namespace aplomb::testing

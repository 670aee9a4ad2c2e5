#include "diagnosis/temper.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::diagnosis {
namespace {

RankedCause cause(double share, std::vector<WeighedReason> reasons) {
  RankedCause made;
  made.id = "nan.a";
  made.probability = share;
  made.reasons = std::move(reasons);
  return made;
}

const std::vector<WeighedReason> k_own = {{"explains loss.nonfinite", 1, {}, {}},
                                          {"optim.lr > 1", 2, {}, {}}};
const std::vector<WeighedReason> k_shared = {{"explains loss.nonfinite", 1, {}, {}},
                                             {"optim.lr > 1", -2, {}, {}}};

Calibration calibration() {
  Calibration made;
  made.specific_slope = 0.35;
  made.specific_offset = 1.4;
  return made;
}

Ranking ranking(double first, double second, const std::vector<WeighedReason>& reasons) {
  Ranking made;
  made.causes = {cause(first, reasons), cause(second, reasons)};
  made.unknown_probability = 1 - first - second;
  return made;
}

TEST(Temper, FollowsTheCurveOfTheKnowledge) {
  Ranking sure = ranking(0.98, 0.01, k_own);
  temper(sure, calibration());
  EXPECT_NEAR(sure.causes[0].probability, 1 / (1 + std::exp(-(0.35 * std::log(49.0) + 1.4))), 1e-9);
  EXPECT_LT(sure.causes[0].probability, 0.98) << "words are not that sure";
  EXPECT_DOUBLE_EQ(sure.causes[1].probability, 0.01);
}

TEST(Temper, ACauseThatOnlyExplainsASymptomKeepsItsShare) {
  Ranking shared = ranking(0.3, 0.2, k_shared);
  temper(shared, calibration());
  EXPECT_DOUBLE_EQ(shared.causes[0].probability, 0.3);
  EXPECT_DOUBLE_EQ(shared.causes[1].probability, 0.2);
}

TEST(Temper, SharesThatWereLearntAreTooModestBelowOneHalfOnly) {
  Calibration line = calibration();
  line.heard_slope = 0.25;
  line.heard_offset = 0.1;
  const auto told = [&](double share) {
    Ranking heard = ranking(share, share / 8, {{"words of the text", 1, {}, {}}});
    heard.heard = true;
    temper(heard, line);
    return heard.causes[0].probability;
  };
  EXPECT_DOUBLE_EQ(told(0.98), 0.98);
  EXPECT_NEAR(told(0.2), 1 / (1 + std::exp(-(0.25 * std::log(0.25) + 0.1))), 1e-9);
  EXPECT_LT(told(0.48), 0.5);
  EXPECT_LT(told(1e-9), 0.1);
}

TEST(Temper, NeverCrossesOneHalf) {
  Ranking doubtful = ranking(0.45, 0.4, k_own);
  temper(doubtful, calibration());
  EXPECT_GT(doubtful.causes[0].probability, 0.45);
  EXPECT_LT(doubtful.causes[0].probability, 0.5);
  Calibration timid = calibration();
  timid.specific_offset = -3;
  Ranking likely = ranking(0.6, 0.1, k_own);
  temper(likely, timid);
  EXPECT_DOUBLE_EQ(likely.causes[0].probability, 0.5);
}

TEST(Temper, TheOthersYieldAndNoneIsAheadOfTheFirst) {
  Ranking likely = ranking(0.55, 0.4, k_own);
  temper(likely, calibration());
  const double first = likely.causes[0].probability;
  EXPECT_NEAR(likely.causes[1].probability, 0.4 * (1 - first) / 0.45, 1e-9);
  EXPECT_NEAR(likely.unknown_probability, 0.05 * (1 - first) / 0.45, 1e-9);
  Ranking two_matters = ranking(0.999, 0.998, k_own);
  temper(two_matters, calibration());
  EXPECT_LE(two_matters.causes[1].probability, two_matters.causes[0].probability);
}

TEST(Temper, CertaintyAndNoiseAndNothing) {
  Ranking certain = ranking(1, 0, k_own);
  temper(certain, calibration());
  EXPECT_TRUE(std::isfinite(certain.causes[0].probability));
  EXPECT_GT(certain.causes[0].probability, 0.98);
  Ranking noise = ranking(0.01, 0, k_own);
  temper(noise, calibration());
  EXPECT_DOUBLE_EQ(noise.causes[0].probability, 0.01);
  Ranking nothing;
  temper(nothing, calibration());
  EXPECT_DOUBLE_EQ(nothing.unknown_probability, 1);
}

}  // namespace
}  // namespace aplomb::diagnosis

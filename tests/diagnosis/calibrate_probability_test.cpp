#include "diagnosis/calibrate_probability.h"

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

WeighedReason reason(ReasonKind kind, double weight, bool said = false) {
  WeighedReason made;
  made.kind = kind;
  made.weight = weight;
  made.said = said;
  return made;
}

const std::vector<WeighedReason> k_own = {reason(ReasonKind::explains, 1),
                                          reason(ReasonKind::rule, 2)};
const std::vector<WeighedReason> k_shared = {reason(ReasonKind::explains, 1),
                                             reason(ReasonKind::rule, -2)};

Calibration calibration() {
  Calibration made;
  made.platt_slope = 0.35;
  made.platt_offset = 1.4;
  return made;
}

Ranking ranking(double first, double second, const std::vector<WeighedReason>& reasons) {
  Ranking made;
  made.causes = {cause(first, reasons), cause(second, reasons)};
  made.unknown_probability = 1 - first - second;
  return made;
}

TEST(CalibrateProbability, FollowsTheCurveOfTheKnowledge) {
  Ranking sure = ranking(0.98, 0.01, k_own);
  calibrate_probability(sure, calibration());
  EXPECT_NEAR(sure.causes[0].probability, 1 / (1 + std::exp(-(0.35 * std::log(49.0) + 1.4))), 1e-9);
  EXPECT_LT(sure.causes[0].probability, 0.98) << "words are not that sure";
  EXPECT_DOUBLE_EQ(sure.causes[1].probability, 0.01);
}

TEST(CalibrateProbability, ACauseThatOnlyExplainsASymptomKeepsItsShare) {
  Ranking shared = ranking(0.3, 0.2, k_shared);
  calibrate_probability(shared, calibration());
  EXPECT_DOUBLE_EQ(shared.causes[0].probability, 0.3);
  EXPECT_DOUBLE_EQ(shared.causes[1].probability, 0.2);
}

TEST(CalibrateProbability, SharesThatWereLearntAreTooModestBelowOneHalfOnly) {
  Calibration line = calibration();
  line.text.platt_slope = 0.25;
  line.text.platt_offset = 0.1;
  const auto told = [&](double share) {
    Ranking heard = ranking(share, share / 8, {reason(ReasonKind::words, 1)});
    heard.from_text = true;
    calibrate_probability(heard, line);
    return heard.causes[0].probability;
  };
  EXPECT_DOUBLE_EQ(told(0.98), 0.98);
  EXPECT_NEAR(told(0.2), 1 / (1 + std::exp(-(0.25 * std::log(0.25) + 0.1))), 1e-9);
  EXPECT_LT(told(0.48), 0.5);
  EXPECT_LT(told(1e-9), 0.1);
}

TEST(CalibrateProbability, WordsAloneAreNeverSurerThanTheirBound) {
  const std::vector<WeighedReason> said = {reason(ReasonKind::explains, 1, true),
                                           reason(ReasonKind::rule, 3, true),
                                           reason(ReasonKind::rule, -1)};
  Ranking told = ranking(0.99, 0.005, said);
  calibrate_probability(told, calibration());
  EXPECT_DOUBLE_EQ(told.causes[0].probability, calibration().text.most);
  Ranking learnt = ranking(0.99, 0.005, {reason(ReasonKind::words, 5, true)});
  learnt.from_text = true;
  calibrate_probability(learnt, calibration());
  EXPECT_DOUBLE_EQ(learnt.causes[0].probability, calibration().text.most);
  std::vector<WeighedReason> printed = said;
  printed.push_back(reason(ReasonKind::rule, 1));
  Ranking shown = ranking(0.99, 0.005, printed);
  calibrate_probability(shown, calibration());
  EXPECT_GT(shown.causes[0].probability, calibration().text.most);
}

TEST(CalibrateProbability, NeverCrossesOneHalf) {
  Ranking doubtful = ranking(0.45, 0.4, k_own);
  calibrate_probability(doubtful, calibration());
  EXPECT_GT(doubtful.causes[0].probability, 0.45);
  EXPECT_LT(doubtful.causes[0].probability, 0.5);
  Calibration timid = calibration();
  timid.platt_offset = -3;
  Ranking likely = ranking(0.6, 0.1, k_own);
  calibrate_probability(likely, timid);
  EXPECT_DOUBLE_EQ(likely.causes[0].probability, 0.5);
}

TEST(CalibrateProbability, TheOthersYieldAndNoneIsAheadOfTheFirst) {
  Ranking likely = ranking(0.55, 0.4, k_own);
  calibrate_probability(likely, calibration());
  const double first = likely.causes[0].probability;
  EXPECT_NEAR(likely.causes[1].probability, 0.4 * (1 - first) / 0.45, 1e-9);
  EXPECT_NEAR(likely.unknown_probability, 0.05 * (1 - first) / 0.45, 1e-9);
  Ranking two_matters = ranking(0.999, 0.998, k_own);
  calibrate_probability(two_matters, calibration());
  EXPECT_LE(two_matters.causes[1].probability, two_matters.causes[0].probability);
}

TEST(CalibrateProbability, CertaintyAndNoiseAndNothing) {
  Ranking certain = ranking(1, 0, k_own);
  calibrate_probability(certain, calibration());
  EXPECT_TRUE(std::isfinite(certain.causes[0].probability));
  EXPECT_GT(certain.causes[0].probability, 0.98);
  Ranking noise = ranking(0.01, 0, k_own);
  calibrate_probability(noise, calibration());
  EXPECT_DOUBLE_EQ(noise.causes[0].probability, 0.01);
  Ranking nothing;
  calibrate_probability(nothing, calibration());
  EXPECT_DOUBLE_EQ(nothing.unknown_probability, 1);
}

}  // namespace
}  // namespace aplomb::diagnosis

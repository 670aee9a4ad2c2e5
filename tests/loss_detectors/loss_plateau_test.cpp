#include <gtest/gtest.h>

#include <cmath>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

std::vector<double> flat(double level, double sigma, std::size_t n, std::uint64_t seed) {
  Draw draw(seed);
  return curve(n, [&](double) { return level; }, [&] { return sigma * draw.normal(); });
}

TEST(Plateau, ALossThatStaysAtLnOfTheVocabularyHasNeverLearned) {
  const auto symptoms = RunOf()
                            .set("model.vocab_size", 50304.0)
                            .loss(flat(std::log(50304.0), 0.01, 200, 1))
                            .grad_norm(std::vector<double>(200, 0.7))
                            .detect();
  const detectors::Symptom* found = find(symptoms, "loss.never_learned");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::unstable);
  EXPECT_TRUE(flag(found, "near_log_vocab"));
}

TEST(Plateau, ChanceAmongTwoClassesIsNamed) {
  const auto symptoms = RunOf().loss(flat(0.6931, 0.0002, 40, 2)).detect();
  EXPECT_EQ(number(find(symptoms, "loss.never_learned"), "chance_classes"), 2) << told(symptoms);
}

TEST(Plateau, ALoneColumnOfNoiseIsNoAlarm) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto symptoms = RunOf().loss(flat(2.0, 0.3, 1000, seed)).detect();
    EXPECT_EQ(worst(symptoms), core::Severity::note) << "seed " << seed << "\n" << told(symptoms);
  }
}

TEST(Plateau, BesideALearningRateItIsOneOnlyWhereItGoesOnForThousandsOfSteps) {
  // A run that goes on from a trained model may start at its floor.
  for (const auto& [samples, severity] :
       {std::pair(1000, core::Severity::note), std::pair(6000, core::Severity::unstable)}) {
    const auto size = static_cast<std::size_t>(samples);
    const auto symptoms = RunOf()
                              .loss(flat(2.4, 0.1, size, 3))
                              .with("lr", record::Role::lr, std::vector<double>(size, 4e-7))
                              .detect();
    const detectors::Symptom* found = find(symptoms, "loss.never_learned");
    ASSERT_NE(found, nullptr) << told(symptoms);
    EXPECT_EQ(found->severity, severity) << samples << "\n" << told(symptoms);
  }
}

TEST(Plateau, AConvergedRunThatLevelsOffIsANote) {
  Draw draw(4);
  const auto loss = curve(
      1000, [](double i) { return 2 + 6 * std::exp(-i / 40); },
      [&] { return 0.03 * draw.normal(); });
  const auto symptoms = RunOf().loss(loss).grad_norm(std::vector<double>(1000, 0.4)).detect();
  const detectors::Symptom* plateau = find(symptoms, "loss.plateau");
  ASSERT_NE(plateau, nullptr);
  EXPECT_EQ(plateau->severity, core::Severity::note);
  EXPECT_NEAR(number(plateau, "level"), 2.0, 0.05);
}

TEST(Plateau, IsSilentWhileThePowerLawFalls) {
  Draw draw(5);
  const auto loss = curve(
      2000, [](double i) { return power_law(i, 10.8, 2, 300); },
      [&] { return 0.03 * draw.normal(); });
  const auto symptoms = RunOf().loss(loss).grad_norm(std::vector<double>(2000, 0.4)).detect();
  EXPECT_FALSE(has(symptoms, "loss.plateau")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "loss.never_learned"));
}

TEST(Plateau, NaNAndFewSamplesSayNothing) {
  EXPECT_FALSE(has(RunOf().loss(flat(4, 0.1, 10, 6)).detect(), "loss.never_learned"));
  EXPECT_FALSE(has(RunOf().loss(std::vector<double>(50, k_nan)).detect(), "loss.never_learned"));
}

TEST(Plateau, AFlatLossBesideALivingGradientFromTheFirstStepOnIsAWarning) {
  const auto symptoms = RunOf()
                            .loss(flat(4.2, 0.05, 60, 21), 10)
                            .grad_norm(std::vector<double>(60, 0.8), 10)
                            .detect();
  const detectors::Symptom* found = find(symptoms, "loss.never_learned");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
  EXPECT_DOUBLE_EQ(number(found, "grad_ratio"), 1.0);
}

TEST(Plateau, TheSameInTheMiddleOfARunOrInAFewStepsIsANote) {
  const std::vector<double> norms(60, 0.8);
  const auto middle = RunOf()
                          .loss(flat(4.2, 0.05, 60, 22), 10, 5000)
                          .with("grad_norm", record::Role::grad_norm, norms, 10, 5000)
                          .detect();
  EXPECT_EQ(worst(middle), core::Severity::note) << told(middle);
  const auto few = RunOf().loss(flat(4.2, 0.05, 60, 23)).grad_norm(norms).detect();
  EXPECT_EQ(worst(few), core::Severity::note) << told(few);
}

TEST(Plateau, HeldOutLossesThatStayTellItWithoutAGradientNorm) {
  const auto symptoms =
      RunOf()
          .loss(flat(4.2, 0.05, 300, 24))
          .with("eval_loss", record::Role::eval_loss, {4.21, 4.2, 4.2, 4.19}, 75, 75)
          .detect();
  const detectors::Symptom* found = find(symptoms, "loss.never_learned");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::warning);
}

TEST(Plateau, NoiseDoesNotHideAGuessAmongTenClassesAndDoesNotMakeOne) {
  const auto guess = RunOf().loss(flat(std::log(10.0), 0.05, 400, 25)).detect();
  EXPECT_EQ(number(find(guess, "loss.never_learned"), "chance_classes"), 10) << told(guess);
  const auto other = RunOf().loss(flat(2.2, 0.05, 400, 26)).detect();
  EXPECT_EQ(number(find(other, "loss.never_learned"), "chance_classes"), 0) << told(other);
}

TEST(Plateau, ATrainedModelAtItsFloorIsANote) {
  const auto symptoms = RunOf()
                            .set("model.vocab_size", 32000.0)
                            .loss(flat(1.6, 0.01, 60, 27), 10)
                            .grad_norm(std::vector<double>(60, 0.8), 10)
                            .detect();
  const detectors::Symptom* found = find(symptoms, "loss.never_learned");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(found->severity, core::Severity::note);
  EXPECT_TRUE(flag(found, "learnt_before"));
}

TEST(Plateau, ALossThatSettlesFromItsFirstValuesHasMovedAndOneThatDoesNotHasNot) {
  auto loss = flat(4.2, 0.01, 200, 28);
  EXPECT_FALSE(flag(find(RunOf().loss(loss).detect(), "loss.never_learned"), "moved"));
  for (std::size_t i = 0; i < 5; ++i) loss[i] = 4.25;
  EXPECT_TRUE(flag(find(RunOf().loss(loss).detect(), "loss.never_learned"), "moved"));
}

TEST(Plateau, ALevelThatWasBetterBeforeIsNoGuess) {
  // 2.0, then 2.3026 = ln 10: another mixture of data.
  auto loss = flat(2.0, 0.05, 1000, 29);
  const auto after = flat(std::log(10.0), 0.05, 1000, 30);
  loss.insert(loss.end(), after.begin(), after.end());
  const auto symptoms = RunOf().loss(loss).detect();
  EXPECT_EQ(worst(symptoms), core::Severity::note) << told(symptoms);
}

std::vector<double> to_frequencies(double guess, double level, std::size_t n, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<double> loss;
  for (std::size_t i = 0; i < n; ++i) {
    const double way = std::exp(-static_cast<double>(i) / 6.0);
    loss.push_back(level + (guess - level) * way + (i > 0 ? 0.02 * draw.normal() : 0));
  }
  return loss;
}

TEST(Plateau, ARunThatEndsWhereTokenFrequenciesLeadIsAWarning) {
  const double guess = std::log(259.0);
  const auto judged = [](const std::vector<double>& loss, double steps) {
    RunOf run;
    run.set("model.vocab_size", 259.0).loss(loss);
    if (steps > 0) run.set("train.max_steps", steps);
    return run.detect();
  };
  const auto loss = to_frequencies(guess, 0.53 * guess, 120, 31);
  const auto symptoms = judged(loss, 120);
  const detectors::Symptom* found = find(symptoms, "loss.plateau");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(found, "at_frequencies"));
  EXPECT_EQ(found->severity, core::Severity::warning);
  // Half-way through, or with no known end, nobody can tell; nor where it came down further, or
  // began elsewhere.
  EXPECT_EQ(worst(judged(loss, 400)), core::Severity::note);
  EXPECT_EQ(worst(judged(loss, 0)), core::Severity::note);
  EXPECT_EQ(worst(judged(to_frequencies(guess, 0.3 * guess, 120, 32), 120)), core::Severity::note);
  EXPECT_EQ(worst(judged(to_frequencies(0.7 * guess, 0.53 * guess, 120, 33), 120)),
            core::Severity::note);
}

TEST(Plateau, AveragesOfPassesThatAreAlikeAreFlat) {
  const auto epochs = [](const std::vector<double>& losses) {
    return RunOf().with("loss", record::Role::loss, losses, 1, 0, record::StepKind::epoch).detect();
  };
  EXPECT_TRUE(has(epochs({6.8297, 6.8237, 6.8293, 6.8368, 6.8181, 6.8205}), "loss.never_learned"));
  EXPECT_FALSE(has(epochs({1.2, 0.9, 0.7, 0.65, 0.6}), "loss.never_learned"));
  EXPECT_FALSE(has(epochs({6.8297, 6.8237, 6.8293}), "loss.never_learned"));
}

TEST(Plateau, ALossThatStaysWhereItsFirstRecordsBroughtItIsStuck) {
  Draw draw(41);
  const auto losses = curve(
      60, [](double i) { return 6.12 + 1.18 * std::exp(-0.8 * i); },
      [&] { return 0.03 * draw.normal(); });
  const auto symptoms =
      RunOf().loss(losses, 10).grad_norm(std::vector<double>(60, 0.3), 10).detect();
  const detectors::Symptom* plateau = find(symptoms, "loss.plateau");
  ASSERT_NE(plateau, nullptr) << told(symptoms);
  EXPECT_TRUE(flag(plateau, "stuck")) << told(symptoms);
  EXPECT_EQ(plateau->severity, core::Severity::warning);
  const auto tuned = curve(
      60, [](double i) { return 1.6 + 0.4 * std::exp(-i / 2); },
      [&] { return 0.04 * draw.normal(); });
  EXPECT_FALSE(flag(find(RunOf().loss(tuned, 5).grad_norm(std::vector<double>(60, 0.3), 5).detect(),
                         "loss.plateau"),
                    "stuck"));
}

}  // namespace
}  // namespace aplomb::testing

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "diagnosis/cause_book.h"
#include "diagnosis/diagnosis.h"
#include "record/run_builder.h"

namespace aplomb::diagnosis {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

/// A run with one source, filled series by series.
class FactsOfARun : public testing::Test {
 protected:
  void series(const char* name, record::Role role, const std::vector<double>& values,
              const char* raw = nullptr) {
    const record::SeriesId id = build_.series(source_, name, raw != nullptr ? raw : name, role,
                                              record::StepKind::explicit_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      build_.append(id, static_cast<std::int64_t>(i), values[i], i + 1, 10 * i);
    }
  }

  void setting(const char* name, core::Value value) {
    build_.setting({name, std::move(value), name, "", {source_, 1, 0}});
  }

  void event(const char* kind, std::map<std::string, core::Value> caught = {},
             std::uint64_t offset = 50) {
    record::Event event;
    event.kind = kind;
    event.text = kind;
    event.caught = std::move(caught);
    event.origin = {source_, 5, offset};
    build_.event(std::move(event));
  }

  FactTable facts(const std::vector<detectors::Symptom>& symptoms = {}) {
    return gather_facts(run_, symptoms);
  }

  double number(const FactTable& table, const char* name) {
    const record::Fact* fact = table.find(name);
    const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
    return held == nullptr ? k_nan : *held;
  }

  bool truth(const FactTable& table, const char* name) {
    const record::Fact* fact = table.find(name);
    return fact != nullptr && core::is_true(fact->value);
  }

  std::string text(const FactTable& table, const char* name) {
    const record::Fact* fact = table.find(name);
    return fact == nullptr ? "unknown" : core::show(fact->value);
  }

  aplomb::record::Run run_;
  record::RunBuilder build_{run_};
  record::SourceId source_ = build_.open("train.log", "text-log", 0);
};

TEST_F(FactsOfARun, AccuraciesFarApartAreAWideGap) {
  series("loss", record::Role::loss, {1.2, 1.1, 1.0, 0.9});
  series("accuracy", record::Role::accuracy, {0.70, 0.78, 0.80, 0.82});
  series("eval_accuracy", record::Role::eval_accuracy, {0.58, 0.59, 0.58, 0.59});
  const FactTable far = facts();
  EXPECT_NEAR(number(far, "eval.accuracy_gap"), 0.23, 0.011);
  EXPECT_EQ(far.find("eval.gap_wide")->value, core::Value(true));
  std::vector<detectors::Symptom> symptoms;
  const Diagnosis judged = diagnose_run(run_, symptoms);
  ASSERT_FALSE(judged.causes.empty());
  EXPECT_EQ(judged.causes.front().family, "overfit");
  EXPECT_NE(judged.standing, Standing::healthy) << "the loss falls, and the model memorises";
}

TEST_F(FactsOfARun, AccuraciesInPercentAndCloseAreInOrder) {
  series("accuracy", record::Role::accuracy, {70, 90, 93});
  series("eval_accuracy", record::Role::eval_accuracy, {68, 88, 90});
  EXPECT_EQ(facts().find("eval.gap_wide")->value, core::Value(false));
}

TEST_F(FactsOfARun, ASamplerThatIsPushedLateAgreesAtFirstAndThenFallsBehind) {
  series("is_ratio_mean", record::Role::is_ratio_mean, {1.0, 0.97, 0.9, 0.8, 0.8, 0.8});
  series("logp_difference", record::Role::logp_difference, {0.0, 0.1, 0.2, 0.35, 0.4, 0.45});
  const FactTable late = facts();
  EXPECT_EQ(late.find("rl.sampler_falls_behind")->value, core::Value(true));
  EXPECT_EQ(late.find("rl.is_ratio_off")->value, core::Value(false));
}

TEST_F(FactsOfARun, ASamplerOfAnotherTemperatureIsOffFromTheStart) {
  series("is_ratio_mean", record::Role::is_ratio_mean, {1.2, 1.2, 1.1, 1.2});
  series("logp_difference", record::Role::logp_difference, {0.3, 0.3, 0.4, 0.4});
  const FactTable off = facts();
  EXPECT_EQ(off.find("rl.sampler_falls_behind")->value, core::Value(false));
  EXPECT_EQ(off.find("rl.is_ratio_off")->value, core::Value(true));
}

TEST_F(FactsOfARun, ARewardIsAtItsTopWhereItHasRisenAndStays) {
  std::vector<double> reward(10, -1.4);
  reward[3] = -3.0;
  reward.resize(40, -0.01);
  reward[35] = 0;
  series("reward", record::Role::reward, reward);
  EXPECT_EQ(facts().find("reward.at_top")->value, core::Value(true));
}

TEST_F(FactsOfARun, ARewardThatStillRisesIsNotAtItsTop) {
  std::vector<double> rising;
  for (int i = 0; i < 40; ++i) rising.push_back(0.3 + 0.01 * i);
  series("reward", record::Role::reward, rising);
  EXPECT_EQ(facts().find("reward.at_top")->value, core::Value(false));
}

TEST_F(FactsOfARun, ATinyPolicyStandsTheLearningRateOfAModelFromScratch) {
  setting("train.method", std::string("grpo"));
  setting("optim.lr", 3e-3);
  series("reward", record::Role::reward, {0.1, 0.2, 0.3});
  EXPECT_GT(number(facts(), "lr.over_usual"), 100);
  setting("model.trainable_params", 13376.0);
  EXPECT_LT(number(facts(), "lr.over_usual"), 1);
}

TEST_F(FactsOfARun, ALaterSettingOfTheSameNameWins) {
  setting("optim.lr", 1e-3);
  setting("optim.lr", 2e-5);
  EXPECT_DOUBLE_EQ(number(facts(), "optim.lr"), 2e-5);
}

TEST_F(FactsOfARun, EventsGiveTheirKindTheirCountAndWhatTheyCaught) {
  event("cuda-oom", {{"requested", 5e9}});
  event("cuda-oom", {{"requested", 7e9}});
  const FactTable table = facts();
  EXPECT_EQ(text(table, "error.cuda-oom"), "true");
  EXPECT_DOUBLE_EQ(number(table, "error.cuda-oom.count"), 2);
  EXPECT_DOUBLE_EQ(number(table, "error.cuda-oom.requested"), 5e9);
  ASSERT_FALSE(table.find("error.cuda-oom")->evidence.empty());
  EXPECT_EQ(table.find("error.cuda-oom")->evidence[0].line, 5U);
  EXPECT_EQ(table.find("error.nothing"), nullptr) << "an event that is not there is unknown";
}

TEST_F(FactsOfARun, RepeatedMessagesAreCountedByTheirTimes) {
  event("scaler-skip", {{"times", 12.0}});
  event("scaler-skip");  // the matcher keeps the first, with the count, and the last
  EXPECT_DOUBLE_EQ(number(facts(), "error.scaler-skip.count"), 12);
}

TEST_F(FactsOfARun, ASilentDetectorSaysAbsentOnlyOfWhatItSaw) {
  series("loss", record::Role::loss, {3, 2.5, 2.2, 2.0, 1.9, 1.8});
  const FactTable table = facts();
  EXPECT_EQ(text(table, "loss.nonfinite"), "false");
  EXPECT_EQ(text(table, "loss.spike"), "false");
  EXPECT_EQ(text(table, "grad_norm.nonfinite"), "unknown") << "no gradient norm was logged";
}

TEST_F(FactsOfARun, ThreeSamplesAreTooFewToSayThatTheLossHasNoSpike) {
  series("loss", record::Role::loss, {3, 2.5, 2.2});
  const FactTable table = facts();
  EXPECT_EQ(text(table, "loss.nonfinite"), "false");
  EXPECT_EQ(text(table, "loss.spike"), "unknown");
}

TEST_F(FactsOfARun, ASymptomBringsItsMeasures) {
  detectors::Symptom symptom;
  symptom.id = "loss.spike";
  symptom.summary = "loss jumps";
  symptom.measures["ratio"] = 4.5;
  const FactTable table = facts({symptom});
  EXPECT_EQ(text(table, "loss.spike"), "true");
  EXPECT_DOUBLE_EQ(number(table, "loss.spike.ratio"), 4.5);
  EXPECT_EQ(table.find("loss.spike")->because, "loss jumps");
}

TEST_F(FactsOfARun, SeriesGiveFiniteEndsAndExtremes) {
  series("loss", record::Role::loss, {k_nan, 3, 1, 2, k_nan});
  const FactTable table = facts();
  EXPECT_DOUBLE_EQ(number(table, "loss.first"), 3);
  EXPECT_DOUBLE_EQ(number(table, "loss.last"), 2);
  EXPECT_DOUBLE_EQ(number(table, "loss.min"), 1);
  EXPECT_DOUBLE_EQ(number(table, "loss.points"), 5);
  EXPECT_EQ(table.find("loss.last")->evidence[0].line, 4U);
}

TEST_F(FactsOfARun, AnAgentInASimulatorIsNoLanguageModel) {
  setting("train.method", std::string("ppo"));
  setting("optim.lr", 1e-3);
  EXPECT_GT(number(facts(), "lr.over_usual"), 10);
  build_.fact({"code.environment", true, "code: env.step(action)", {}});
  EXPECT_EQ(text(facts(), "lr.method"), "control");
  EXPECT_LE(number(facts(), "lr.over_usual"), 1);
}

TEST_F(FactsOfARun, TheLearningRateIsJudgedByItsMethod) {
  setting("optim.lr", 1e-3);
  setting("peft.method", std::string("lora"));
  const FactTable table = facts();
  EXPECT_EQ(text(table, "lr.method"), "lora");
  EXPECT_NEAR(number(table, "lr.over_usual"), 1e-3 / 3e-4, 1e-9);
}

TEST_F(FactsOfARun, RewardsMakeItReinforcementLearning) {
  series("reward", record::Role::reward, {0, 0.1});
  setting("optim.lr", 1e-6);
  const FactTable table = facts();
  EXPECT_EQ(text(table, "run.kind"), "rl");
  EXPECT_EQ(text(table, "lr.method"), "rl");
}

TEST_F(FactsOfARun, BoxLossesMakeItVision) {
  series("loss/rpn_box", record::Role::loss_component, {0.1});
  EXPECT_EQ(text(facts(), "run.kind"), "vision");
}

TEST_F(FactsOfARun, TheGlobalBatchIsTheProductOfItsParts) {
  setting("batch.micro", 4.0);
  setting("batch.accumulation", 8.0);
  setting("dist.world_size", 2.0);
  EXPECT_DOUBLE_EQ(number(facts(), "batch.global"), 64);
}

TEST_F(FactsOfARun, ALossThatDoesNotFallIsFlatAndOneThatFallsIsNot) {
  series("loss", record::Role::loss, {4.6, 4.7, 4.5, 4.8, 4.9, 4.6, 4.8, 4.7});
  EXPECT_EQ(text(facts(), "loss.flat"), "true");
  aplomb::record::Run falling;
  record::RunBuilder build(falling);
  const record::SourceId source = build.open("log", "text-log", 0);
  const record::SeriesId loss =
      build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
  for (int i = 0; i < 8; ++i) build.append(loss, i, 4.0 - 0.1 * i, 0, 0);
  EXPECT_EQ(text(gather_facts(falling, {}), "loss.flat"), "false");
}

TEST_F(FactsOfARun, GuessingAmongTenClassesIsRecognised) {
  setting("data.class_count", 10.0);
  series("loss", record::Role::loss, std::vector<double>(12, std::log(10.0)));
  EXPECT_EQ(text(facts(), "loss.chance_level"), "true");
}

TEST_F(FactsOfARun, AFewSamplesFarApartAtAGuessAreOne) {
  const auto level = [this](const std::vector<double>& losses, std::int64_t apart) {
    aplomb::record::Run run;
    record::RunBuilder build(run);
    const record::SourceId source = build.open("log", "text-log", 0);
    const record::SeriesId loss =
        build.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
    for (std::size_t i = 0; i < losses.size(); ++i)
      build.append(loss, apart * static_cast<std::int64_t>(i), losses[i], 0, 0);
    return text(gather_facts(run, {}), "loss.chance_level");
  };
  EXPECT_EQ(level({6.9078, 6.9077, 6.9081, 6.9076}, 1000), "true") << "ln 1000";
  EXPECT_NE(level({6.9078, 6.9077, 6.9081, 6.9076}, 10), "true") << "thirty steps are a start";
  EXPECT_NE(level({6.9078, 6.5, 6.1, 5.8}, 1000), "true") << "it learns";
  EXPECT_NE(level({6.9078, 6.9077}, 1000), "true") << "two samples";
  EXPECT_NE(level({0.6931, 0.6930, 0.6932, 0.6931}, 1000), "true") << "a balanced discriminator";
}

TEST_F(FactsOfARun, ABoxWhoseCornersAreSwappedIsDegenerate) {
  event("box-list", {{"x1", 1324.5}, {"y1", 275.8}, {"x2", 699.7}, {"y2", 19.5}});
  EXPECT_EQ(text(facts(), "data.degenerate_box"), "true");
}

TEST_F(FactsOfARun, AHeadThatIsDrawnAgainBehindTheTrainingWasNotSaved) {
  event("head-missing", {}, 10);
  event("training-ended", {}, 500);
  EXPECT_EQ(facts().find("load.head_redrawn"), nullptr) << "every new task draws its head";
  event("head-missing", {}, 900);
  EXPECT_EQ(text(facts(), "load.head_redrawn"), "true");
}

TEST_F(FactsOfARun, ALoopOfOnesOwnNeedNotSayThatItHasEnded) {
  event("head-missing", {}, 10);
  series("loss", record::Role::loss, std::vector<double>(20, 0.5));
  EXPECT_EQ(facts().find("load.head_redrawn"), nullptr) << "before the training";
  event("head-missing", {}, 9000);
  EXPECT_EQ(text(facts(), "load.head_redrawn"), "true");
}

TEST_F(FactsOfARun, ABaselineThatIsReachedAndNoMoreIsTold) {
  event("baseline-printed", {{"name_text", std::string("mse")}, {"value", 0.074}}, 10);
  series("eval_loss", record::Role::eval_loss, {0.122, 0.08, 0.0745, 0.0741, 0.074, 0.0741});
  EXPECT_EQ(text(facts(), "baseline.only"), "true");
  EXPECT_EQ(facts().find("baseline.missed"), nullptr);
}

TEST_F(FactsOfARun, ABaselineThatIsAShareIsNotHeldAgainstALoss) {
  event("baseline-printed", {{"name_text", std::string("accuracy")}, {"value", 0.61}}, 10);
  series("eval_loss", record::Role::eval_loss, {1.2, 0.9, 0.7, 0.62, 0.61, 0.61});
  EXPECT_EQ(facts().find("baseline.only"), nullptr);
}

TEST_F(FactsOfARun, ABaselineThatIsBeatenSaysNothing) {
  event("baseline-printed", {{"name_text", std::string("mse")}, {"value", 0.074}}, 10);
  series("eval_loss", record::Role::eval_loss, {0.122, 0.08, 0.05, 0.03, 0.02, 0.02});
  EXPECT_EQ(facts().find("baseline.only"), nullptr);
  EXPECT_EQ(facts().find("baseline.missed"), nullptr);
}

TEST_F(FactsOfARun, ABaselineOfTheSameMeasureThatIsMissedIsTold) {
  event("baseline-printed", {{"name_text", std::string("ep_return")}, {"value", 100.4}}, 10);
  series("ep_return", record::Role::reward, {-49, -48, -47, -45, -43, -42});
  EXPECT_EQ(text(facts(), "baseline.missed"), "true");
}

TEST_F(FactsOfARun, AHeadOfTheNextSeedIsDrawnAsEveryHeadIs) {
  event("head-missing", {}, 10);
  event("training-ended", {}, 50);
  event("head-missing", {}, 60);
  series("loss", record::Role::loss, std::vector<double>(20, 0.5));  // to offset 190
  EXPECT_EQ(facts().find("load.head_redrawn"), nullptr);
}

TEST_F(FactsOfARun, AWarmUpAsLongAsTheRunIsSeenInTheSettings) {
  setting("schedule.warmup_steps", 300.0);
  setting("train.max_steps", 300.0);
  EXPECT_EQ(text(facts(), "schedule.warmup_covers_run"), "true");
}

TEST_F(FactsOfARun, EveryDerivedFactIsDeclared) {
  setting("optim.lr", 1e-3);
  setting("batch.micro", 4.0);
  setting("batch.accumulation", 8.0);
  setting("precision.params", std::string("bf16"));
  setting("precision.compute", std::string("fp16"));
  series("loss", record::Role::loss, {2e9, 3, 4, 5, 4, 3, 4, 5, 4});
  series("eval_loss", record::Role::eval_loss, {3, 4});
  series("lr", record::Role::lr, {1e-4, 1e-3});
  series("epoch", record::Role::epoch, {0.5, 1.5});
  const std::vector<std::string> declared = declared_facts();
  const FactTable table = facts();
  for (const record::Fact& fact : table.all()) {
    const bool known_elsewhere = fact.name.starts_with("error.") || fact.name.ends_with(".series");
    if (!known_elsewhere) {
      EXPECT_TRUE(is_declared(declared, fact.name)) << fact.name;
    }
  }
}

TEST_F(FactsOfARun, ASmallModelMayHaveALargerLearningRate) {
  setting("optim.lr", 3e-3);
  setting("train.method", std::string("pretrain"));
  setting("model.params", 1e6);
  EXPECT_LT(number(facts(), "lr.over_usual"), 1.5);
  setting("model.params", 7e9);
  EXPECT_DOUBLE_EQ(number(facts(), "lr.over_usual"), 5);
}

TEST_F(FactsOfARun, ThePathOfTheLearningRateIsItsSumOverTheSteps) {
  series("loss", record::Role::loss, {3, 3, 3, 3, 3});
  series("lr", record::Role::lr, {0, 1e-3, 2e-3, 1e-3, k_nan});
  EXPECT_NEAR(number(facts(), "lr.path"), 4e-3, 1e-12);
}

TEST_F(FactsOfARun, AHeldOutAccuracyFarBelowABlindGuessIsMade) {
  series("loss", record::Role::loss, {2.08, 1.9, 1.2, 0.9, 0.6, 0.3, 0.2});
  series("eval_accuracy", record::Role::eval_accuracy, {0.09, 0.02, 0.0025});
  EXPECT_TRUE(truth(facts(), "eval.below_guess")) << "eight classes, by the first loss";
}

TEST_F(FactsOfARun, AnAccuracyAboveAGuessOrBesideNothingLearntIsNot) {
  series("loss", record::Role::loss, {2.08, 1.9, 1.2, 0.9, 0.6, 0.3, 0.2});
  series("eval_accuracy", record::Role::eval_accuracy, {0.09, 0.2, 0.31});
  EXPECT_FALSE(truth(facts(), "eval.below_guess"));
}

TEST_F(FactsOfARun, NothingIsBelowAGuessWhereTheLossStays) {
  series("loss", record::Role::loss, {2.08, 2.07, 2.08, 2.07, 2.08, 2.07, 2.08});
  series("eval_accuracy", record::Role::eval_accuracy, {0.09, 0.02, 0.0025});
  EXPECT_EQ(facts().find("eval.below_guess"), nullptr);
}

TEST_F(FactsOfARun, AnAverageThatLooksBackFurtherThanTheRunLags) {
  series("loss", record::Role::loss, std::vector<double>(2501, 0.4));
  setting("optim.ema_decay", 0.9999);
  const FactTable table = facts();
  EXPECT_TRUE(truth(table, "ema.lags"));
  EXPECT_NEAR(number(table, "ema.start_share"), std::exp(-0.25), 1e-3);
}

TEST_F(FactsOfARun, AShortAverageDoesNotLag) {
  series("loss", record::Role::loss, std::vector<double>(2501, 0.4));
  setting("optim.ema_decay", 0.99);
  EXPECT_FALSE(truth(facts(), "ema.lags"));
}

TEST_F(FactsOfARun, APartOfTheRewardThatNeverGaveAnythingIsTold) {
  setting("train.method", std::string("grpo"));
  series("reward", record::Role::reward, std::vector<double>(12, 0.1));
  series("rewards/format", record::Role::reward_component, std::vector<double>(12, 0.1));
  series("correctness/mean", record::Role::other, std::vector<double>(12, 0.0));
  EXPECT_TRUE(truth(facts(), "reward.part_unpaid"));
}

TEST_F(FactsOfARun, AScoreOfZeroIsNoPartOfTheReward) {
  setting("train.method", std::string("grpo"));
  series("reward", record::Role::reward, std::vector<double>(12, 0.1));
  series("exact", record::Role::other, std::vector<double>(12, 0.0));
  EXPECT_EQ(facts().find("reward.part_unpaid"), nullptr);
}

}  // namespace
}  // namespace aplomb::diagnosis

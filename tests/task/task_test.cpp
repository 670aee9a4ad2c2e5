#include "task/task.h"

#include <gmock/gmock.h>

#include <cmath>

#include "record/run_builder.h"
#include "task/class_count.h"
#include "task/elsewhere.h"
#include "task/stages.h"

namespace aplomb::task {
namespace {

using record::Role;
using ::testing::IsEmpty;

class Told {
 public:
  Told() : build_(run), source_(build_.open("train.log", "text-log", 0)) {}
  Told& with(const char* name, Role role, const std::vector<double>& values,
             std::int64_t every = 10) {
    const auto id = build_.series(source_, name, name, role, record::StepKind::explicit_);
    std::int64_t step = 0;
    for (const double value : values) {
      step += every;
      build_.append(id, step, value, 1, static_cast<std::uint64_t>(step));
    }
    return *this;
  }
  Told& set(const char* name, core::Value value) {
    build_.setting({name, std::move(value), name, "", {}});
    return *this;
  }
  Told& fact(const char* name) {
    build_.fact({name, true, "", {}});
    return *this;
  }
  Told& event(const char* kind, std::int64_t step) {
    build_.event({kind, core::Severity::note, -1, step, "=== stage 2 ===", {}, {}});
    return *this;
  }

  record::Run run;

 private:
  record::RunBuilder build_;
  record::SourceId source_;
};

const std::vector<double> k_three = {1, 2, 3};

TEST(Recognise, EachKindByItsSigns) {
  const auto kind = [](const Told& told) { return recognise(told.run).kind; };
  EXPECT_EQ(kind(Told().with("loss", Role::loss, k_three)), Kind::unknown);
  EXPECT_EQ(kind(Told().with("ppl", Role::perplexity, k_three).set("model.vocab_size", 512.0)),
            Kind::causal_lm);
  EXPECT_EQ(kind(Told().fact("code.causal-lm")), Kind::causal_lm);
  EXPECT_EQ(kind(Told().with("mlm_loss", Role::loss, k_three)), Kind::masked_lm);
  EXPECT_EQ(kind(Told().with("sacrebleu", Role::eval_metric, k_three)), Kind::seq2seq);
  EXPECT_EQ(kind(Told().with("val_acc", Role::eval_accuracy, k_three)), Kind::classifier);
  EXPECT_EQ(kind(Told().with("eval_overall_f1", Role::eval_metric, k_three)),
            Kind::token_classifier);
  EXPECT_EQ(kind(Told().with("val_mae", Role::eval_metric, k_three)), Kind::regression);
  EXPECT_EQ(kind(Told().with("recon_loss", Role::loss, k_three)), Kind::autoencoder);
  EXPECT_EQ(kind(Told().with("rec", Role::loss, k_three).with("kl", Role::kl, k_three)), Kind::vae);
  EXPECT_EQ(kind(Told()
                     .with("rec", Role::loss, k_three)
                     .with("recon std", Role::other, k_three)
                     .with("kl", Role::kl, k_three)),
            Kind::vae)
      << "two names of one thing count once";
  EXPECT_EQ(kind(Told()
                     .with("loss_D", Role::loss_component, k_three)
                     .with("loss_G", Role::loss_component, k_three)),
            Kind::gan);
  EXPECT_EQ(kind(Told().with("eps-mse", Role::loss, k_three)), Kind::diffusion);
  EXPECT_EQ(kind(Told().with("contrastive_loss", Role::loss, k_three)), Kind::contrastive);
  EXPECT_EQ(kind(Told().with("rewards/accuracies", Role::other, k_three)), Kind::preference);
  EXPECT_EQ(kind(Told().with("reward", Role::reward, k_three).with("kl", Role::kl, k_three)),
            Kind::policy);
  EXPECT_EQ(kind(Told().with("td_error", Role::loss, k_three)), Kind::value);
  EXPECT_EQ(kind(Told().with("loss/bbox", Role::loss_component, k_three)), Kind::detection);
  EXPECT_EQ(kind(Told().with("val_miou", Role::eval_metric, k_three)), Kind::segmentation);
  EXPECT_EQ(kind(Told().with("distill_loss", Role::loss, k_three)), Kind::distillation);
}

TEST(Recognise, TheGuessOfATask) {
  const Task classes =
      recognise(Told().set("data.class_count", 8.0).with("loss", Role::loss, {2.1, 2.05, 1.9}).run);
  ASSERT_TRUE(classes.guess);
  EXPECT_NEAR(classes.guess->value, std::log(8.0), 1e-12);
  EXPECT_EQ(classes.guess->because, "ln 8");
  EXPECT_TRUE(classes.from_scratch);
  const Task pairs = recognise(Told().with("rewards/margins", Role::other, k_three).run);
  ASSERT_TRUE(pairs.guess);
  EXPECT_NEAR(pairs.guess->value, std::log(2.0), 1e-12);
  const Task tuned = recognise(Told()
                                   .set("model.vocab_size", 32000.0)
                                   .set("train.method", std::string("sft"))
                                   .with("loss", Role::loss, {1.6, 1.5, 1.4})
                                   .run);
  ASSERT_TRUE(tuned.guess);
  EXPECT_FALSE(tuned.from_scratch);
  EXPECT_FALSE(recognise(Told().with("mse", Role::loss, k_three).run).guess);
}

TEST(Recognise, StepsOfAPassFromThePositionInIt) {
  const Task task = recognise(Told()
                                  .with("loss", Role::loss, {3, 2, 1})
                                  .with("epoch", Role::epoch, {0.1042, 0.2083, 0.3125})
                                  .run);
  ASSERT_TRUE(task.steps_per_pass);
  EXPECT_NEAR(task.steps_per_pass->value, 96, 0.2);
  EXPECT_FALSE(recognise(Told().with("epoch", Role::epoch, {1, 1, 2}).run).steps_per_pass);
}

TEST(ClassCount, ByWhatTheLevelsAre) {
  const auto count = [](const Told& told) {
    const auto classes = class_count(told.run);
    return classes ? classes->value : 0;
  };
  EXPECT_EQ(count(Told().with("loss", Role::loss, {1.7925, 1.7962, 1.7906, 1.2, 0.8})), 6);
  EXPECT_EQ(count(Told()
                      .with("loss", Role::loss, {115, 131, 127})
                      .with("eval_loss", Role::eval_loss, {1.94, 2.03, 1.84})
                      .with("eval_accuracy", Role::eval_accuracy, {0.176, 0.164, 0.176})),
            6);
  EXPECT_EQ(count(Told()
                      .with("loss", Role::loss, {2.2, 2.1, 2.1})
                      .with("eval_loss", Role::eval_loss, {2.0794, 2.0801, 2.0796})),
            8);
  EXPECT_EQ(count(Told().with("loss", Role::loss, {4.1, 3.2, 2.5})), 0);
  EXPECT_EQ(count(Told().with("loss", Role::loss, {0.91, 0.7, 0.6})), 0);
}

TEST(ClassCount, OfAContrastByItsFirstLoss) {
  const auto batch =
      batch_of_contrast(Told().with("loss", Role::loss, {4.86, 4.84, 4.85, 4.2}).run);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->value, 128);
  EXPECT_FALSE(batch_of_contrast(Told().with("loss", Role::loss, {4.5, 4.4, 4.3}).run));
}

TEST(ScoreElsewhere, FarWorseOnOtherDataThanOnTheHeldOut) {
  const Told told = Told()
                        .with("valid_auc", Role::other, {0.81, 0.93, 0.99, 1.0})
                        .with("valid_bce", Role::eval_loss, {0.5, 0.3, 0.1, 0.003})
                        .with("auc", Role::other, {0.6419}, 50)
                        .with("bce", Role::other, {1.934}, 50);
  const auto pair = score_elsewhere(told.run);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->name, "auc");
  EXPECT_EQ(pair->held_out, 1.0);
  EXPECT_EQ(pair->elsewhere, 0.6419);
}

TEST(ScoreElsewhere, ATestScoreAsGoodOrBetterIsNone) {
  EXPECT_FALSE(score_elsewhere(Told()
                                   .with("val_acc", Role::eval_accuracy, {0.8, 0.9, 0.95})
                                   .with("test_acc", Role::other, {0.93}, 50)
                                   .run));
  EXPECT_FALSE(score_elsewhere(Told().with("val_acc", Role::eval_accuracy, {0.8, 0.9, 0.95}).run));
}

TEST(Stages, ByANumberThatTheProgramPrints) {
  std::vector<double> digits(20, 1);
  digits.insert(digits.end(), 20, 2);
  digits.insert(digits.end(), 10, 3);
  const Told told = Told().with("digits", Role::other, digits);
  const std::vector<Stage> stages = stages_of(told.run);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].step, 200);
  EXPECT_EQ(stages[0].told_by, "digits 1 -> 2");
  EXPECT_EQ(stages[1].step, 400);
}

TEST(Stages, CountsAndNumbersThatWanderAreNone) {
  std::vector<double> wanders;
  for (int i = 0; i < 40; ++i) wanders.push_back(i % 3);
  std::vector<double> best(20, 5);
  best.insert(best.end(), 20, 7);
  EXPECT_THAT(stages_of(Told().with("seq", Role::other, wanders).run), IsEmpty());
  EXPECT_THAT(stages_of(Told().with("best_step", Role::other, best).run), IsEmpty());
  EXPECT_THAT(stages_of(Told().with("x", Role::other, std::vector<double>(40, 1)).run), IsEmpty());
  EXPECT_THAT(stages_of(Told().with("x", Role::other, {1, 2, 3}).run), IsEmpty());
}

TEST(Stages, ByALineThatSaysSo) {
  const std::vector<Stage> stages = stages_of(Told().event("stage-begins", 410).run);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].step, 410);
}

TEST(Facts, OfATask) {
  const auto facts = facts_of(recognise(
      Told().set("data.class_count", 8.0).with("loss", Role::loss, {2.1, 2.05, 1.9}).run));
  const auto has = [&](const char* name) {
    return std::any_of(facts.begin(), facts.end(),
                       [&](const record::Fact& fact) { return fact.name == name; });
  };
  EXPECT_TRUE(has("task.kind"));
  EXPECT_TRUE(has("task.classes"));
  EXPECT_TRUE(has("task.guess"));
  EXPECT_FALSE(has("task.vocabulary"));
}

TEST(Tasks, TheTableIsInOrder) { EXPECT_THAT(tasks_mistakes(), IsEmpty()); }

}  // namespace
}  // namespace aplomb::task

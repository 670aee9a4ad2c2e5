#include "prose/claims.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "prose/claim_tokens.h"

namespace aplomb::prose {
namespace {

/// The facts of one note.
class Said {
 public:
  explicit Said(const std::string& text, ClaimReader::Text kind = ClaimReader::Text::notes) {
    record::RunBuilder build(run_);
    const record::SourceId source = build.open("reported.txt", "settings-text", text.size());
    ClaimReader reader(kind);
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      reader.line(std::string_view(text).substr(at, end - at), ++number, at);
      at = end + 1;
    }
    reader.finish(build, source);
    for (const record::Fact& fact : run_.facts) by_name_[fact.name] = &fact;
  }

  bool holds(const std::string& name) const {
    const auto found = by_name_.find("said." + name);
    return found != by_name_.end() && core::is_true(found->second->value);
  }

  double number(const std::string& name) const {
    const auto found = by_name_.find("said." + name);
    const double* value = found == by_name_.end() ? nullptr : core::as_number(found->second->value);
    return value == nullptr ? -1 : *value;
  }

  const record::Fact* fact(const std::string& name) const {
    const auto found = by_name_.find("said." + name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  std::string all() const {
    std::string names;
    for (const auto& [name, fact] : by_name_)
      names += name + " = " + core::show(fact->value) + "\n";
    return names.empty() ? "nothing" : names;
  }

 private:
  record::Run run_;
  std::map<std::string, const record::Fact*> by_name_;
};

struct Heard {
  const char* text;
  const char* fact;
};

/// Each fact holds in its text, or none does.
void expect_each(bool holds, const std::vector<Heard>& texts) {
  for (const Heard& each : texts) {
    const Said said(each.text);
    EXPECT_EQ(said.holds(each.fact), holds) << each.text << "\n" << said.all();
  }
}

struct Measured {
  const char* text;
  const char* fact;
  double value;
};

TEST(Claims, LexiconHasNoMistakes) {
  for (const std::string& mistake : prose::Lexicon::instance().mistakes()) ADD_FAILURE() << mistake;
  EXPECT_GT(prose::Lexicon::instance().all().size(), 100U);
}

TEST(Claims, WhatIsMeasuredIsTheSubjectNotOfWhat) {
  EXPECT_TRUE(Said("The entropy of the policy decreases quickly.").holds("entropy.falls"));
  EXPECT_TRUE(Said("The reward for accuracy is zero.").holds("reward.zero"));
  EXPECT_TRUE(Said("The loss of the model increases.").holds("loss.rises"));
  EXPECT_FALSE(Said("The loss of accuracy is high.").holds("loss.high")) << "a decline is no loss";
}

TEST(Claims, JoinedSplitsAreBothSpokenOf) {
  const Said said("Training and validation accuracy are constant.");
  EXPECT_TRUE(said.holds("train_accuracy.constant")) << said.all();
  EXPECT_TRUE(said.holds("eval_accuracy.constant")) << said.all();
}

TEST(Claims, AQuestionDeniesBeforeItsSubject) {
  const Said said("Why doesn't the reward increase?");
  EXPECT_TRUE(said.holds("reward.constant")) << said.all();
  EXPECT_FALSE(said.holds("reward.rises")) << said.all();
}

TEST(Claims, ErrorRatesAreBetterWhenLow) {
  const Said said("WER on the train set is 1%, on the dev set 60%.");
  EXPECT_NEAR(said.number("accuracy_gap"), 0.59, 1e-9) << said.all();
}

TEST(Claims, ScoresOnDataFromElsewhereAreApart) {
  const Said said("93% on the test set, but only 82% on data from another hospital.");
  EXPECT_NEAR(said.number("eval_accuracy.value"), 0.93, 1e-9) << said.all();
  EXPECT_NEAR(said.number("field_accuracy.value"), 0.82, 1e-9) << said.all();
  EXPECT_NEAR(said.number("field_gap"), 0.11, 1e-9) << said.all();
  const Said plain("99 % on the training set, 60 % on unseen data");
  EXPECT_NEAR(plain.number("accuracy_gap"), 0.39, 1e-9) << "where no test set is named";
}

TEST(Claims, ValuesInARowAreATrend) {
  const Said falling("BLEU is 37.1 after three epochs. Six epochs later BLEU is 36.2.");
  EXPECT_NEAR(falling.number("accuracy.trend"), 36.2 / 37.1, 1e-6) << falling.all();
  EXPECT_FALSE(falling.holds("accuracy.falls")) << "two values make no fall";
  const Said rising("The reward is 0.1. Then the reward is 0.3. Now the reward is 0.6.");
  EXPECT_TRUE(rising.holds("reward.rises")) << rising.all();
  const Said wavering("The reward is 0.1. Then the reward is 0.9. Now the reward is 0.6.");
  EXPECT_FALSE(wavering.holds("reward.rises")) << wavering.all();
}

TEST(Claims, WrappedLinesAreOneSentence) {
  const Said said(
      "We have trained the classifier for two weeks on eight machines, and by now the loss\n"
      "increases from one epoch to the next");
  EXPECT_TRUE(said.holds("loss.rises")) << said.all();
  EXPECT_EQ(said.fact("loss.rises")->evidence.front().line, 1U) << "where the sentence begins";
  const Said apart(
      "The accuracy on the held-out part of our images is what is looked at here.\nIt "
      "rises.");
  EXPECT_TRUE(apart.holds("eval_accuracy.rises")) << "a sentence that ended: " << apart.all();
  const Said items(
      "- the learning rate that the others use for this kind of network and data\n"
      "- increases of the loss");
  EXPECT_FALSE(items.holds("learning_rate.rises")) << "items of a list: " << items.all();
}

TEST(Claims, AFlagInASentenceIsProseAndACommandIsNot) {
  EXPECT_TRUE(
      Said("When I use --resume the loss of the first steps is NaN.").holds("loss.nonfinite"));
  EXPECT_FALSE(Said("--loss nan --grad inf").holds("loss.nonfinite"));
  EXPECT_TRUE(reads_like_prose("It stopped -- the loss no longer decreases", false));
  EXPECT_FALSE(reads_like_prose("train --loss mse --epochs 3", false));
}

TEST(Claims, HeldOutLossOverTrainingLoss) {
  const Said said("The training loss is 0.05. The validation loss is 1.6.");
  EXPECT_NEAR(said.number("loss_ratio"), 32, 1e-6) << said.all();
}

TEST(Claims, HearsOneThingInManyWordings) {
  const std::vector<Heard> heard = {
      {"The loss becomes NaN after a few hundred steps.", "loss.nonfinite"},
      {"I always get nan as the training loss", "loss.nonfinite"},
      {"Around step 300 my losses turned into nan", "loss.nonfinite"},
      {"训练几步之后 loss 变成 nan", "loss.nonfinite"},
      {"loss为0, grad_norm为nan", "grad_norm.nonfinite"},
      {"loss为0, grad_norm为nan", "loss.zero"},
      {"The loss does not go down at all.", "loss.constant"},
      {"training loss is not decreasing", "loss.constant"},
      {"my loss is stuck at 0.69", "loss.constant"},
      {"the loss stays around 2.3 for the whole epoch", "loss.constant"},
      {"the loss stopped decreasing", "loss.constant"},
      {"loss 一直不下降", "loss.constant"},
      {"Validation loss goes up after the second epoch", "eval_loss.rises"},
      {"the loss on the validation set keeps increasing", "eval_loss.rises"},
      {"验证集loss上升", "eval_loss.rises"},
      {"Reward never increases", "reward.constant"},
      {"the mean reward went up and then suddenly drops", "reward.collapses"},
      {"the rewards collapse to zero", "reward.zero"},
      {"gradient norm is zero in every step", "grad_norm.zero"},
      {"the learning rate drops to 0 after 100 epochs", "learning_rate.zero"},
      {"very low GPU utilization", "gpu_util.low"},
      {"GPU usage is really low", "gpu_util.low"},
      {"显卡利用率很低", "gpu_util.low"},
      {"the job hangs at the end of the first epoch", "run.hangs"},
      {"it got stuck right after the start", "run.hangs"},
      {"程序卡住不动", "run.hangs"},
      {"Each epoch takes longer than the one before", "step_time.slow"},
      {"host memory keeps growing until the process dies", "host_memory.rises"},
      {"there is a memory leak", "memory.leaks"},
      {"the results are different every time", "results.differs"},
      {"the results are not reproducible", "results.differs"},
      {"after resuming the global step starts from 0", "global_step.restarts"},
      {"the epoch number doubles when I resume", "epoch.doubles"},
      {"the parameters are not updated", "weights.constant"},
      {"the model does not learn anything", "model.not_learning"},
      {"we are overfitting a lot", "run.overfits"},
      {"entropy collapses quickly", "entropy.collapses"},
      {"KL divergence explodes", "kl.explodes"},
      {"the optimizer state is not saved in the checkpoint", "optimizer.missing"},
  };
  expect_each(true, heard);
}

TEST(Claims, NegationAndHopeSayNothing) {
  const std::vector<Heard> not_heard = {
      {"the loss is not nan and decreases nicely", "loss.nonfinite"},
      {"the loss never becomes NaN", "loss.nonfinite"},
      {"no NaN loss in any of the runs", "loss.nonfinite"},
      {"the validation loss no longer increases", "eval_loss.rises"},
      {"the loss should be decreasing", "loss.falls"},
      {"it does not hang any more", "run.hangs"},
      {"GPU utilization is not low", "gpu_util.low"},
      {"we do machine learning and deep learning here", "model.learns"},
      {"the KL divergence is 0.02", "kl.explodes"},
  };
  expect_each(false, not_heard);
}

TEST(Claims, ReadsValuesWithTheirUnits) {
  const std::vector<Measured> measured = {
      {"my gpu usage was 20%", "gpu_util.value", 0.2},
      {"GPU utilization is around 35 percent", "gpu_util.value", 0.35},
      {"the CPU is at 98 % and the GPU usage at 7 %", "gpu_util.value", 0.07},
      {"training accuracy is 0.99", "train_accuracy.value", 0.99},
      {"on the test set the accuracy is only 61", "eval_accuracy.value", 0.61},
      {"the loss goes from 6.28 to 298,760,397", "loss.rises.to", 298760397},
      {"the loss drops from 2.3 to 0.4", "loss.falls.to", 0.4},
      {"loss stuck at 0.693", "loss.constant.value", 0.693},
      {"the loss explodes at step 2300", "loss.explodes.step", 2300},
      {"after 300 steps the loss is nan", "loss.nonfinite.step", 300},
      {"one iteration takes 15s/it", "step_time.value", 15},
  };
  for (const Measured& each : measured) {
    const Said said(each.text);
    EXPECT_NEAR(said.number(each.fact), each.value, 1e-9 * each.value) << each.text << "\n"
                                                                       << said.all();
  }
}

TEST(Claims, ComparesTrainingWithHeldOutData) {
  for (const char* text :
       {"High training accuracy (99%) but low validation accuracy (60%)",
        "99% on train, 60% on test", "generalization is poor: 99% train vs 60% val",
        "Training accuracy reaches 99 % but the validation accuracy stays at 60 %",
        "train accuracy is 0.99 while validation accuracy is 0.60",
        "Accuracy on the training set is 99 %, on the test set only 60 %."}) {
    const Said said(text);
    EXPECT_NEAR(said.number("accuracy_gap"), 0.39, 1e-9) << text << "\n" << said.all();
  }
  EXPECT_LT(Said("training accuracy 91 %, validation accuracy 92 %").number("accuracy_gap"), 0);
}

TEST(Claims, TellsWhatWorksAndWhatDoesNot) {
  const std::vector<Heard> heard = {
      {"with fp16 the loss is nan, with fp32 it is normal", "fails_with.fp16"},
      {"with fp16 the loss is nan, with fp32 it is normal", "works_with.fp32"},
      {"it hangs with 2 gpus but a single gpu works", "works_with.single_gpu"},
      {"it hangs with 2 gpus but a single gpu works", "fails_with.multi_gpu"},
      {"With batch size 1 it is fine, with a larger batch I get NaN", "works_with.batch_of_one"},
      {"Without amp the training is fine", "works_without.fp16"},
      {"After resuming the loss explodes", "fails_with.resume"},
      {"lr = 0.001 works but with lr = 0.1 the loss explodes", "smaller_works.learning_rate"},
  };
  expect_each(true, heard);
  EXPECT_FALSE(Said("lr = 0.1 works but with lr = 0.001 the loss explodes")
                   .holds("smaller_works.learning_rate"));
}

TEST(Claims, AQuestionIsNoStatement) {
  const Said said("The loss of the discriminator is 0.2. Is this normal?");
  EXPECT_TRUE(said.holds("about.asks_normal"));
  EXPECT_FALSE(said.holds("run.works")) << said.all();
}

TEST(Claims, KeepsTheLineAsEvidence) {
  const Said said("I use two cards.\nSince yesterday the loss is nan.\n");
  const record::Fact* fact = said.fact("loss.nonfinite");
  ASSERT_NE(fact, nullptr);
  ASSERT_EQ(fact->evidence.size(), 1U);
  EXPECT_EQ(fact->evidence[0].line, 2U);
  EXPECT_EQ(fact->because, "said: Since yesterday the loss is nan.");
}

TEST(Claims, MachineLinesAreNoProse) {
  for (const char* line :
       {"[2024-01-01 10:00:00] INFO loss is nan, skipping the step",
        "2024-01-01 10:00:00,123 WARNING the loss is not decreasing",
        "UserWarning: the loss is nan", "{'loss': nan, 'grad_norm': nan, 'epoch': 0.1}",
        "step 12 | loss nan | grad_norm nan | lr 1e-4",
        "python train.py --loss nan --resume out/last.pt"}) {
    const Said said(line, ClaimReader::Text::log);
    EXPECT_EQ(said.all(), "nothing") << line;
  }
}

TEST(Claims, LongTextsAreLogs) {
  std::string text = "the loss is nan\n";
  for (std::uint64_t i = 0; i < ClaimReader::k_account_lines; ++i)
    text += "one more line of words\n";
  EXPECT_EQ(Said(text).all(), "nothing");
}

TEST(Claims, TokensMeetTheLexiconsCut) {
  const auto texts = [](std::string_view text) {
    std::vector<std::string> words;
    for (const prose::Token& token : prose::tokenize(text, 100)) words.push_back(token.text);
    return words;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(texts("grad_norm doesn’t fall"), (Words{"grad", "norm", "doesn't", "fall"}));
  EXPECT_EQ(texts("15s/it"), (Words{"15", "s", "/", "it"}));
  EXPECT_EQ(texts("99.5%"), (Words{"99.5", "%"}));
  EXPECT_EQ(texts("1e-3 or -0.5"), (Words{"1e-3", "or", "-0.5"}));
  EXPECT_EQ(texts("val-loss 12."), (Words{"val", "loss", "12", ". "}));
  EXPECT_EQ(texts("loss为nan"), (Words{"loss", "为", "nan"}));
  EXPECT_EQ(prose::tokenize("1,234,567 or 1,23", 100)[0].value, 1234567);
  EXPECT_TRUE(texts("\xE3\x80").empty()) << "a torn character at the end";
  EXPECT_EQ(prose::tokenize(std::string(5000, 'a') + " b", 1).size(), 1U);
}

TEST(Claims, ACommandIsNoSentenceAndASentenceMayBeginWithAScript) {
  EXPECT_FALSE(reads_like_prose("./tools/train_faster_model.sh 0 voc vgg", false));
  EXPECT_TRUE(reads_like_prose("./run.sh hangs at the third step.", false));
  EXPECT_TRUE(reads_like_prose("train.py runs out of memory after three epochs", false));
}

}  // namespace
}  // namespace aplomb::prose

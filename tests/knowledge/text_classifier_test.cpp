#include "knowledge/text_classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace aplomb::knowledge {
namespace {

using Words = std::set<std::string>;

Words features(std::string_view text) {
  const auto found = word_features(text);
  Words words(found.begin(), found.end());
  EXPECT_EQ(words.size(), found.size()) << "each once";
  return words;
}

// Another stemmer, or another release of it whose stems differ, would fail here: the weights hold
// for these features only.
TEST(WordFeatures, AreThoseThatWereLearnt) {
  EXPECT_EQ(
      features("The loss goes to NaN after 300 steps; see https://a.b/c?d=1. "
               "lr=1e-3, then 2.5e+11!"),
      (Words{"# step",    "#big",      "#small",    "#small then", "1",    "after",    "after #",
             "d",         "d 1",       "goe",       "goe to",      "loss", "loss goe", "lr",
             "lr #small", "nan",       "nan after", "see",         "step", "the",      "the loss",
             "then",      "then #big", "to",        "to nan"}));
  EXPECT_EQ(features("grad_norm 0.693 exit code 137, don't __init__ 上升 65504.0"),
            (Words{"grad_norm", "grad",       "norm",     "grad_norm grad", "grad norm",
                   "0.69",      "norm 0.69",  "exit",     "0.69 exit",      "code",
                   "exit code", "137",        "code 137", "don't",          "137 don't",
                   "init",      "don't init", "上",       "init 上",        "升",
                   "上 升",     "升 #"}));
}

TEST(WordFeatures, StemAsSnowballsEnglishDoes) {
  const std::vector<std::pair<const char*, const char*>> k_stems = {{"losses", "loss"},
                                                                    {"training", "train"},
                                                                    {"diverged", "diverg"},
                                                                    {"divergence", "diverg"},
                                                                    {"gradients", "gradient"},
                                                                    {"optimizer", "optim"},
                                                                    {"optimizers", "optim"},
                                                                    {"memory", "memori"},
                                                                    {"memories", "memori"},
                                                                    {"happens", "happen"},
                                                                    {"generally", "general"},
                                                                    {"validation", "valid"},
                                                                    {"communication", "communic"},
                                                                    {"resuming", "resum"},
                                                                    {"tokenizer's", "token"},
                                                                    {"zwischen", "zwischen"}};
  for (const auto& [word, stem] : k_stems) EXPECT_EQ(features(word), Words{stem}) << word;
}

TEST(WordFeatures, LookAtTheHeadOnly) {
  std::string text(TextClassifier::k_largest_text, '.');
  text += " nan";
  EXPECT_TRUE(word_features(text).empty());
  EXPECT_TRUE(word_features("").empty());
  EXPECT_TRUE(word_features("\xE9\xAA").empty()) << "a torn character";
}

double nats_of(std::string_view text, std::string_view cause) {
  for (const auto& verdict : TextClassifier::instance().weigh(word_features(text))) {
    if (verdict.cause == cause) return verdict.nats;
  }
  return std::nan("");
}

TEST(TextClassifier, HearsWhatNoRuleNames) {
  const std::string_view report =
      "After every epoch the validation accuracy drops while the training one is nearly perfect; "
      "I only have ninety pictures for each class.";
  EXPECT_GT(nats_of(report, "overfit.too-little-data"), 1);
  EXPECT_LT(nats_of(report, "hang.rendezvous"), 0);
}

TEST(TextClassifier, GivesProbabilitiesOverAnEvenChance) {
  const TextClassifier& book = TextClassifier::instance();
  const auto verdicts = book.weigh(word_features("it hangs at the first all reduce on two nodes"));
  ASSERT_EQ(verdicts.size(), book.causes().size());
  double all = 0;
  for (const auto& verdict : verdicts) {
    all += std::exp(verdict.nats) / static_cast<double>(verdicts.size());
    EXPECT_EQ(verdict.words.empty(), verdict.nats <= 0);
  }
  EXPECT_NEAR(all, 1, 1e-9);
}

TEST(TextClassifier, AWordOfNoReportIsHeardAsItsNeighboursAre) {
  const TextClassifier& book = TextClassifier::instance();
  for (const char* word : {"uncl", "victim", "widget"}) EXPECT_TRUE(book.knows(word)) << word;
  EXPECT_FALSE(book.knows("qzxvj"));
  const std::string report =
      "my run on eight cards does not go on any more, what can I do about it";
  const double without = nats_of(report, "hang.rendezvous");
  EXPECT_NE(nats_of(report + " widget", "hang.rendezvous"), without);
  // Such words alone say where a text comes from, and not what it tells.
  EXPECT_TRUE(book.weigh({"uncl", "victim", "widget", "reddit", "parmi", "landet", "jeu"}).empty());
}

TEST(TextClassifier, AFactSpeaksBesideTheWords) {
  std::vector<std::string> features =
      word_features("my run on eight cards does not go on any more, what can I do about it");
  const auto nats = [&] {
    for (const auto& verdict : TextClassifier::instance().weigh(features))
      if (verdict.cause == "oom.batch-too-large") return verdict.nats;
    return std::nan("");
  };
  const double before = nats();
  features.emplace_back("@error.cuda-oom");
  ASSERT_TRUE(TextClassifier::instance().knows(features.back()));
  EXPECT_GT(nats(), before + 1);
}

TEST(TextClassifier, AnswersNothingForAThinText) {
  EXPECT_TRUE(TextClassifier::instance().weigh(word_features("loss is nan")).empty());
  EXPECT_TRUE(TextClassifier::instance().weigh({}).empty());
  EXPECT_TRUE(
      TextClassifier::instance().weigh(std::vector<std::string>(9, "@error.cuda-oom")).empty())
      << "facts are no words";
  EXPECT_TRUE(TextClassifier::instance()
                  .weigh(word_features("qqq www eee rrr ttt yyy uuu iii ooo"))
                  .empty());
}

}  // namespace
}  // namespace aplomb::knowledge

#include "log_text/pasted_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sources/reader_support.h"

namespace aplomb::log_text {
namespace {

const record::Series* series_named(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Series& series : run.series) {
    if (series.name == name) return &series;
  }
  return nullptr;
}

bool is_said(const aplomb::record::Run& run, std::string_view name) {
  return std::any_of(run.facts.begin(), run.facts.end(),
                     [&](const record::Fact& fact) { return fact.name == name; });
}

aplomb::record::Run read_notes(std::string_view text) {
  return test::read_with("settings-text", text, 1U << 20U, "reported.txt");
}

TEST(PastedMetrics, AreReadBesideTheWordsAndTheSettings) {
  const aplomb::record::Run run = read_notes(
      "Hello, I train with --learning_rate 0.05 and the loss explodes.\n\n"
      "step 10 | loss 2.31 | grad_norm 1.2\n"
      "step 20 | loss 4.80 | grad_norm 15.0\n"
      "step 30 | loss 90.1 | grad_norm 811.0\n\n"
      "What is wrong with it?\n");
  const record::Series* loss = series_named(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->count, 3U);
  EXPECT_EQ(loss->value.back(), 90.1);
  ASSERT_NE(series_named(run, "grad_norm"), nullptr);
  EXPECT_TRUE(is_said(run, "said.loss.explodes") || is_said(run, "said.loss.rises"));
  const bool rate = std::any_of(run.settings.begin(), run.settings.end(),
                                [](const record::Setting& set) { return set.name == "optim.lr"; });
  EXPECT_TRUE(rate);
}

TEST(PastedMetrics, SentencesWithNumbersAreNone) {
  const aplomb::record::Run run = read_notes(
      "The loss is 2.3 at step 100 and it stays there for hours.\n"
      "At step 200 the loss is 2.3 still, whatever I do about it.\n"
      "Even at step 900 I see a loss of 2.3 and nothing else.\n"
      "By then the loss/going down is over, step 1000 shows 2.3 again.\n");
  EXPECT_TRUE(run.series.empty());
}

TEST(PastedMetrics, TwoLinesAreToldAndNoCurve) {
  const aplomb::record::Run run = read_notes("It says\nstep 1 | loss 2.31\nstep 2 | loss nan\n");
  EXPECT_TRUE(run.series.empty());
}

TEST(PastedMetrics, LinesThatEndInReturnAreReadLikewise) {
  const aplomb::record::Run run =
      read_notes("Is this fine?\r\nstep 1 loss 2.31\r\nstep 2 loss 2.20\r\nstep 3 loss 2.11\r\n");
  const record::Series* loss = series_named(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->count, 3U);
}

}  // namespace
}  // namespace aplomb::log_text

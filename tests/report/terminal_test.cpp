#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/made_report.h"
#include "report/renderer.h"
#include "report/terminal_text.h"
#include "report/text_chart.h"

namespace aplomb::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string rendered(const Report& report, RenderOptions options = {}) {
  const Renderer* terminal = find_renderer("terminal");
  return terminal == nullptr ? std::string() : terminal->render(report, options);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TerminalReport, SaysTheCauseInTheFirstLineAndTheFixInTheSecond) {
  const auto lines = lines_of(rendered(test::made_report()));
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[0], "FAILED    The learning rate is too high (87 %)");
  EXPECT_EQ(lines[1], "Fix       Lower the peak learning rate");
  EXPECT_THAT(lines[2], HasSubstr("learning_rate=2e-05"));  // in the user's framework
}

TEST(TerminalReport, NamesEvidenceOtherCausesTheExperimentAndWhatWasNotRead) {
  const std::string text = rendered(test::made_report());
  EXPECT_THAT(text, HasSubstr("train.log:31: {'loss': nan, 'grad_norm': nan}"));
  EXPECT_THAT(text, HasSubstr("   9 %  A sample holds a non-finite value"));
  EXPECT_THAT(text, HasSubstr("   4 %  something that aplomb does not know"));
  EXPECT_THAT(text, HasSubstr("Run 50 steps at a tenth of the learning rate"));
  EXPECT_THAT(text, HasSubstr("Verify    100 steps without a NaN"));
  EXPECT_THAT(text, HasSubstr("Not read  events.out: torn tail"));
}

TEST(TerminalReport, StaysWithinItsColumnsAndAboutOneScreen) {
  Report report = test::made_report();
  report.causes[0].title = std::string(150, 'x');
  report.causes[0].because =
      std::string(3000, 'y') + " \xE4\xB8\xAD\xE6\x96\x87 " + std::string(300, 'z');
  report.symptoms[0].evidence[0].path = "/" + std::string(200, 'p') + "/train.log";
  for (int i = 0; i < 40; ++i)
    report.inputs.push_back({"f", "text_log", 0, {std::string(500, 'w')}});
  for (const int width : {40, 80, 120}) {
    RenderOptions options;
    options.width = width;
    for (const std::string& line : lines_of(rendered(report, options))) {
      EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << line;
    }
  }
  EXPECT_LE(lines_of(rendered(report)).size(), 55U);
  EXPECT_LE(lines_of(rendered(test::made_report())).size(), 45U);
}

TEST(TerminalReport, IsColouredOnlyWhereItIsAskedTo) {
  RenderOptions options;
  EXPECT_THAT(rendered(test::made_report(), options), Not(HasSubstr("\x1b[")));
  options.colour = true;
  EXPECT_THAT(rendered(test::made_report(), options), StartsWith("\x1b[1;31mFAILED\x1b[0m"));
}

TEST(TerminalReport, KeepsToAsciiWhereTheTerminalKnowsNoMore) {
  RenderOptions options;
  options.unicode = false;
  Report report = test::made_report();
  report.symptoms[0].evidence.clear();
  report.inputs.pop_back();
  const std::string text = rendered(report, options);
  EXPECT_THAT(text, HasSubstr("^ step 30"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST(TerminalReport, MarksTheStepAndTheValuesThatAreNotFinite) {
  const std::string text = rendered(test::made_report());
  EXPECT_THAT(text, HasSubstr("loss, 11 of 40 not finite"));
  EXPECT_THAT(text, HasSubstr("\xE2\x96\xB2 step 30"));
  EXPECT_THAT(text, HasSubstr("\xC3\x97"));
}

TEST(TerminalReport, SaysHealthyFirstWithTheReason) {
  const auto lines = lines_of(rendered(test::made_healthy_report()));
  EXPECT_EQ(lines[0], "HEALTHY   Nothing wrong: loss falls 4.1 -> 1.3, gradients stay in 0.2-1.1");
  EXPECT_EQ(lines[1], "Do        go on: nothing needs to change");
}

TEST(TerminalReport, SaysThatTheEvidenceIsThinAndWhatToGiveNext) {
  Report report = test::made_report();
  report.verdict = Verdict::insufficient_evidence;
  report.causes[0].probability = 0.3;
  report.summary["seen"] = std::string("one loss value, NaN");
  report.summary["first_action"] = std::string("give the log from its first line");
  const auto lines = lines_of(rendered(report));
  EXPECT_EQ(lines[0], "UNCLEAR   Not enough evidence to name a cause. Seen: one loss value, NaN");
  EXPECT_EQ(lines[1], "Do next   give the log from its first line");
  EXPECT_THAT(rendered(report), HasSubstr("Perhaps     30 %  The learning rate is too high"));
  EXPECT_THAT(rendered(report),
              HasSubstr("Against   the held-out loss is never below its first value\n"));
}

TEST(TerminalReport, SaysWhyWhatLooksOddIsInOrder) {
  Report report = test::made_report();
  report.verdict = Verdict::insufficient_evidence;
  report.causes[0].probability = 0.3;
  report.summary["headline"] = std::string("Images are augmented in training alone");
  report.summary["seen"] = std::string("a remark");
  report.summary["in_order"] = report.summary["headline"];
  EXPECT_EQ(lines_of(rendered(report))[0], "UNCLEAR   Images are augmented in training alone");
}

TEST(TerminalReport, SaysWhichRivalsAreRuledOutAndByWhat) {
  const std::string text = rendered(test::made_report());
  EXPECT_THAT(text, HasSubstr("Not       A value exceeds what fp16 can hold (65504): nothing is"));
  EXPECT_THAT(text, HasSubstr("(train.log:31)"));
  EXPECT_THAT(text,
              HasSubstr("One large gradient is not clipped: gradients are clipped at a norm"));
  EXPECT_THAT(text, Not(HasSubstr("An operation has no finite result"))) << "two are enough";
  EXPECT_THAT(rendered(test::made_healthy_report()), Not(HasSubstr("Not       ")));
}

TEST(TerminalReport, ClaimsNoMoreThanTheProbabilityBears) {
  Report report = test::made_report();
  report.causes[0].probability = 0.6;
  EXPECT_EQ(lines_of(rendered(report))[0],
            "FAILED    Probably: The learning rate is too high (60 %)");
  report.causes[0].probability = 0.3;
  EXPECT_EQ(lines_of(rendered(report))[0],
            "FAILED    Perhaps one of: The learning rate is too high (30 %), or: A sample");
  report.causes[1].probability = 0.25;
  EXPECT_EQ(lines_of(rendered(report))[0],
            "FAILED    One of: The learning rate is too high (30 %), or: A sample holds a");
  report.causes.resize(1);
  EXPECT_EQ(lines_of(rendered(report))[0],
            "FAILED    Perhaps: The learning rate is too high (30 %)");
}

TEST(TerminalReport, PutsTheTestThatSeparatesBeforeTwoDoubtfulCauses) {
  Report report = test::made_report();
  report.causes[0].probability = 0.3;
  report.causes[1].probability = 0.2;
  report.causes[1].remedies = {{"Replay the batch alone", {}, {}}};
  const std::string text = rendered(report);
  EXPECT_THAT(text, HasSubstr("Test it   Run 50 steps at a tenth of the learning rate\n"));
  EXPECT_THAT(text, HasSubstr("Fix 1st   Lower the peak learning rate\n"));
  EXPECT_THAT(text, HasSubstr("Fix 2nd   Replay the batch alone\n"));
  EXPECT_LT(text.find("Test it"), text.find("Fix 1st"));
  EXPECT_EQ(text.find("Test it"), text.rfind("Test it"));
}

TEST(TerminalReport, NeedsNoTestWhereBothOfTwoCausesBeginWithTheSameChange) {
  Report report = test::made_report();
  report.causes[0].probability = 0.3;
  report.causes[0].remedies = {{"Lower the micro-batch", {{"batch.micro", 1.0}}, {}},
                               {"Recompute activations", {}, {}}};
  report.causes[1].probability = 0.2;
  report.causes[1].remedies = {{"Halve the micro-batch", {{"batch.micro", 2.0}}, {}}};
  const std::string text = rendered(report);
  EXPECT_THAT(text, HasSubstr("Fix       Lower the micro-batch\n"));
  EXPECT_THAT(text, HasSubstr("  or      Recompute activations\n"));
  EXPECT_THAT(text, Not(HasSubstr("Fix 2nd")));
  EXPECT_THAT(lines_of(text)[0], HasSubstr("One of: "));
}

TEST(TerminalReport, PutsNoSecondCauseBesideOneThatIsFarAhead) {
  Report report = test::made_report();
  report.causes[0].probability = 0.48;
  report.causes[1].probability = 0.1;
  EXPECT_EQ(lines_of(rendered(report))[0],
            "FAILED    Perhaps: The learning rate is too high (48 %)");
}

TEST(TerminalReport, TellsALineOnceThatItQuotes) {
  Report report = test::made_report();
  report.summary["seen"] = std::string("{'loss': nan, 'grad_norm': nan}");
  report.symptoms.erase(report.symptoms.begin());
  const std::string text = rendered(report);
  EXPECT_EQ(text.find("'grad_norm': nan"), text.rfind("'grad_norm': nan"));
  EXPECT_THAT(text, HasSubstr("Seen      train.log:31: {'loss'"));
}

TEST(TerminalReport, DrawsNoChartOfASeriesWithoutAFiniteValue) {
  Report report = test::made_report();
  report.series[0].nonfinite = report.series[0].points;
  EXPECT_THAT(rendered(report), HasSubstr("loss  not finite in all 40 samples"));
}

TEST(TerminalReport, NamesTheOtherRuns) {
  Report report = test::made_report();
  report.runs.push_back({"second", Verdict::healthy, "loss falls", "", 40});
  EXPECT_THAT(rendered(report), HasSubstr("second: healthy, loss falls"));
}

TEST(TextChart, StaysWithinItsColumnsWhateverTheValues) {
  const double huge = 1.234e300;
  const std::vector<std::vector<ChartPoint>> all = {
      {{1, 1.2345e-5}, {2, 1.5e10}, {3, NAN}, {100000000, 3}},
      {{1, -huge}, {2, huge}, {3, INFINITY}, {4, -INFINITY}},
      {{7, -1.2345e-300}, {7, 0}, {5, 1e-300}},
      {{0, NAN}, {1, NAN}}};
  for (const auto& points : all) {
    for (const bool unicode : {true, false}) {
      TextChartOptions options;
      options.width = 60;
      options.unicode = unicode;
      options.mark = 3;
      const auto lines = text_chart(points, options, Paint(false));
      EXPECT_EQ(lines.size(), options.rows + 1);
      for (const std::string& line : lines) EXPECT_LE(columns(line), 60U) << line;
    }
  }
}

TEST(TerminalText, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(columns("abc"), 3U);
  EXPECT_EQ(columns("\xE4\xB8\xAD"), 2U);
  EXPECT_EQ(columns("e\xCC\x81"), 1U);
  EXPECT_EQ(fit("\xE4\xB8\xAD\xE6\x96\x87\xE4\xB8\xAD", 5), "\xE4\xB8\xAD...");
  EXPECT_EQ(fit_tail("/long/path/file.log", 11), "...file.log");
}

TEST(TerminalText, WrapsAtBlanksAndCutsLongWords) {
  EXPECT_THAT(wrap("one two three", 8), ::testing::ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("abcdefghij", 4), ::testing::ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(wrap("a\nb", 4), ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(wrap("one two 63 % of", 11), ::testing::ElementsAre("one two", "63 % of"));
  EXPECT_THAT(wrap("", 4), ::testing::ElementsAre(""));
}

}  // namespace
}  // namespace aplomb::report

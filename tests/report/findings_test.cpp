#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/renderer.h"
#include "report/terminal_text.h"

namespace aplomb::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report made() {
  Report report;
  report.verdict = Verdict::failed;
  report.inputs.push_back({"/home/u/train.yaml", "config-yaml", 0, {}});
  report.summary["headline"] = std::string("1 failure, 1 warning to look at before this starts");
  report.summary["findings"] = 3.0;
  report.summary["framework"] = std::string("axolotl");
  ReportFinding failure;
  failure.id = "precision.bf16-unsupported";
  failure.severity = "failed";
  failure.title = "bf16 on a card without bf16 units";
  failure.because = "Cards before Ampere have none.";
  failure.evidence.push_back({"/home/u/train.yaml", 14, std::nullopt, "bf16: true"});
  failure.remedies.push_back({"Compute in fp16.", {}, {{"axolotl", "fp16: true\nbf16: false"}}});
  ReportFinding warning = failure;
  warning.severity = "warning";
  warning.title = "Gradients are not clipped";
  ReportFinding note;
  note.severity = "note";
  note.title = "Global batch 64";
  report.findings = {failure, warning, note};
  return report;
}

std::string rendered(const Report& report, RenderOptions options = {}) {
  const Renderer* view = find_renderer("findings");
  return view == nullptr ? std::string() : view->render(report, options);
}

TEST(FindingsView, GivesTheLineTheReasonAndTheChangeInTheUsersKeys) {
  const std::string text = rendered(made());
  EXPECT_THAT(text, HasSubstr("FAILED    1 failure, 1 warning"));
  EXPECT_THAT(text, HasSubstr("Failed    bf16 on a card without bf16 units"));
  EXPECT_THAT(text, HasSubstr("train.yaml:14: bf16: true"));
  EXPECT_THAT(text, HasSubstr("Why       Cards before Ampere"));
  EXPECT_THAT(text, HasSubstr("  fp16: true"));
  EXPECT_THAT(text, HasSubstr("Note      Global batch 64"));
}

TEST(FindingsView, StaysWithinItsColumns) {
  Report report = made();
  report.findings[0].title = std::string(300, 'x');
  report.findings[0].evidence[0].text = std::string(300, 'y');
  for (const int width : {40, 80, 120}) {
    RenderOptions options;
    options.width = width;
    std::istringstream lines(rendered(report, options));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << line;
  }
}

TEST(FindingsView, SaysHowManyItLeavesOut) {
  Report report = made();
  for (int i = 0; i < 30; ++i) report.findings.push_back(report.findings[1]);
  EXPECT_THAT(rendered(report), HasSubstr("20 more (--verbose shows all)"));
  RenderOptions all;
  all.verbose = true;
  EXPECT_THAT(rendered(report, all), Not(HasSubstr("more (--verbose")));
}

TEST(FindingsView, PutsTheNotesOnAProgramIntoOneRowBehindAllElse) {
  Report report = made();
  ReportFinding note = report.findings.back();
  note.because = "Many words on it.";
  for (const char* title : {"TF32 is off", "The host waits", "TF32 is off"}) {
    note.id = "code.some-note";
    note.title = title;
    report.findings.push_back(note);
  }
  EXPECT_THAT(rendered(report), HasSubstr("TF32 is off; The host waits"));
  EXPECT_THAT(rendered(report), Not(HasSubstr("Many words")));
  RenderOptions all;
  all.verbose = true;
  EXPECT_THAT(rendered(report, all), HasSubstr("Many words"));
}

}  // namespace
}  // namespace aplomb::report

#include <gtest/gtest.h>

#include "report/renderer.h"

namespace aplomb::report {
namespace {

ReportFinding finding(const std::string& path, std::uint64_t line) {
  ReportFinding out;
  out.id = "a.b";
  out.severity = "warning";
  out.title = "Two formats\nat once";
  out.evidence.push_back({path, line, std::nullopt, "fp16: true"});
  return out;
}

TEST(LinesReport, AreWrittenAsByACompiler) {
  Report report;
  report.findings = {finding("configs/train.yaml", 7), finding("x.yaml", 0)};
  report.findings[1].severity = "failed";
  report.findings[1].remedies.push_back({});
  report.findings[1].remedies[0].text = "Take one";
  EXPECT_EQ(find_renderer("lines")->render(report, {}),
            "configs/train.yaml:7:1: warning: Two formats at once [a.b]\n"
            "x.yaml:1:1: error: Two formats at once. Take one [a.b]\n");
}

TEST(LinesReport, IsEmptyWithoutFindings) { EXPECT_EQ(find_renderer("lines")->render({}, {}), ""); }

}  // namespace
}  // namespace aplomb::report

#include "report/view.h"

#include <gtest/gtest.h>

#include "report/made_report.h"

namespace aplomb::report {
namespace {

Report with_inputs(std::initializer_list<const char*> paths) {
  Report report;
  for (const char* path : paths) report.inputs.push_back({path, "text_log", 0, {}});
  return report;
}

TEST(SharedFolder, IsWhatAllPathsBeginWithUpToASlash) {
  EXPECT_EQ(shared_folder(with_inputs({})), "");
  EXPECT_EQ(shared_folder(with_inputs({"train.log"})), "");
  EXPECT_EQ(shared_folder(with_inputs({"out/train.log"})), "out/");
  EXPECT_EQ(shared_folder(with_inputs({"/a/run1/x.log", "/a/run2/x.log"})), "/a/");
  EXPECT_EQ(shared_folder(with_inputs({"a/x.log", "b/x.log"})), "");
  EXPECT_EQ(short_path("/a/run1/x.log", "/a/"), "run1/x.log");
  EXPECT_EQ(short_path("elsewhere", "/a/"), "elsewhere");
}

TEST(CauseTitle, NamesTheFamilyWhereTwoCausesAreCalledTheSame) {
  Report report = test::made_report();
  EXPECT_EQ(cause_title(report, report.causes[0]), "The learning rate is too high");
  report.causes[1].title = report.causes[0].title;
  report.causes[1].family = "diverge";
  EXPECT_EQ(cause_title(report, report.causes[0]), "The learning rate is too high (nan)");
  EXPECT_EQ(cause_title(report, report.causes[1]), "The learning rate is too high (diverge)");
}

TEST(SeenText, IsWhatWeighsMostWhereNothingElseIsSaid) {
  Report report = test::made_report();
  EXPECT_EQ(seen_text(report), "lr reaches 0.01");
  report.verdict = Verdict::insufficient_evidence;
  EXPECT_EQ(seen_text(report), "the loss became NaN at step 30");
  report.summary["seen"] = std::string("loss 2.1 -> nan");
  EXPECT_EQ(seen_text(report), "loss 2.1 -> nan");
}

TEST(ShowPercent, NeverClaimsToBeCertain) {
  EXPECT_EQ(show_percent(1.0), "> 99 %");
  EXPECT_EQ(show_percent(0.0), "< 1 %");
  EXPECT_EQ(show_percent(0.455), "46 %");
}

}  // namespace
}  // namespace aplomb::report

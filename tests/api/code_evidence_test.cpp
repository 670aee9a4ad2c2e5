// What the scripts among the artifacts of a run show to be wrong, on its way into the diagnosis.
#include "api/code_evidence.h"

#include <aplomb/diagnose.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/folder.h"
#include "discovery/collect.h"

namespace aplomb::api {
namespace {

constexpr const char* k_clips_late =
    "import torch\n"
    "model = torch.nn.RNN(8, 8)\n"
    "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for it, (x, y) in enumerate(data):\n"
    "    opt.zero_grad()\n"
    "    loss = torch.nn.functional.mse_loss(model(x)[0], y)\n"
    "    loss.backward()\n"
    "    opt.step()\n"
    "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n";

std::vector<record::Run> runs_of(const test::Folder& folder) {
  return discovery::collect({folder / ""}, {});
}

const record::Fact* fact_of(const std::vector<record::Run>& runs, const std::string& name) {
  for (const record::Run& run : runs) {
    const auto found = std::find_if(run.facts.begin(), run.facts.end(),
                                    [&](const record::Fact& fact) { return fact.name == name; });
    if (found != run.facts.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string> defects_of(const std::vector<record::Run>& runs) {
  std::vector<std::string> kinds;
  for (const record::Run& run : runs)
    for (const record::Defect& each : run.defects) kinds.push_back(each.kind);
  return kinds;
}

bool has_python() {
  const test::Folder folder;
  folder.write("train.py", k_clips_late);
  std::vector<record::Run> runs = runs_of(folder);
  add_code_evidence(runs, "python3");
  return fact_of(runs, "code.clip-after-step") != nullptr;
}

TEST(CodeEvidence, AFindingIsAFactWithItsLines) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const test::Folder folder;
  folder.write("train.py", k_clips_late);
  folder.write("train.log", "step 1 loss 2.0\nstep 2 loss 1.5\nstep 3 loss 1.2\n");
  std::vector<record::Run> runs = runs_of(folder);
  EXPECT_EQ(fact_of(runs, "code.clip-after-step"), nullptr);
  add_code_evidence(runs, "python3");
  const record::Fact* sure = fact_of(runs, "code.mistake.clip-after-step");
  ASSERT_NE(sure, nullptr);
  ASSERT_FALSE(sure->evidence.empty());
  EXPECT_EQ(sure->evidence.front().line, 9U);
}

TEST(CodeEvidence, TheAuditTakesThePlaceOfPatternsInAProgram) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const test::Folder folder;
  // The patterns take the softmax that is shown for one before the loss.
  folder.write("train.py",
               "import torch\nfrom torch import nn\ncriterion = nn.CrossEntropyLoss()\n"
               "shown = torch.softmax(model(x), dim=1)\nloss = criterion(model(x), y)\n");
  std::vector<record::Run> runs = runs_of(folder);
  EXPECT_NE(fact_of(runs, "code.softmax-before-cross-entropy"), nullptr);
  add_code_evidence(runs, "python3");
  EXPECT_EQ(fact_of(runs, "code.softmax-before-cross-entropy"), nullptr);
  EXPECT_NE(fact_of(runs, "code.softmax"), nullptr);  // what is no finding stays
}

/// The loop around cut-out lines is not there to be parsed: what patterns see in them stands.
TEST(CodeEvidence, PatternsStandInLinesThatImportNothing) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const test::Folder folder;
  folder.write("train.py", "loss = criterion(net(x), y)\nloss.backward()\noptimizer.step()\n");
  std::vector<record::Run> runs = runs_of(folder);
  add_code_evidence(runs, "python3");
  EXPECT_NE(fact_of(runs, "code.no-zero-grad"), nullptr);
  EXPECT_EQ(fact_of(runs, "code.mistake.no-zero-grad"), nullptr) << "it may stand elsewhere";
}

TEST(CodeEvidence, WithoutAPythonThePatternsSpeak) {
  const test::Folder folder;
  folder.write("train.py", "loss = -torch.log(torch.softmax(logits, dim=-1)).mean()\n");
  std::vector<record::Run> runs = runs_of(folder);
  add_code_evidence(runs, "/nonexistent/python3");
  EXPECT_NE(fact_of(runs, "code.log-of-softmax"), nullptr);
  EXPECT_EQ(defects_of(runs), std::vector<std::string>{"not-audited"});
  add_code_evidence(runs, "");
  EXPECT_NE(fact_of(runs, "code.log-of-softmax"), nullptr);
}

TEST(CodeEvidence, AProgramThatCannotBeParsedKeepsWhatPatternsSaw) {
  const test::Folder folder;
  folder.write("train.py", "def (:\nloss = -torch.log(torch.softmax(logits, dim=-1)).mean()\n");
  std::vector<record::Run> runs = runs_of(folder);
  add_code_evidence(runs, "python3");
  EXPECT_NE(fact_of(runs, "code.log-of-softmax"), nullptr);
  EXPECT_EQ(defects_of(runs), std::vector<std::string>{"not-audited"});
}

TEST(CodeEvidence, ARunWhoseProgramCouldNotBeJudgedSaysSoBesideItsVerdict) {
  const test::Folder folder;
  folder.write("train.py", "import torch\nmodel = torch.nn.Linear(2, 2)\n");
  std::string log;
  for (int step = 1; step <= 60; ++step)
    log += "step " + std::to_string(step) + " loss " + std::to_string(2.0 - 0.02 * step) + "\n";
  folder.write("train.log", log);
  DiagnoseOptions options;
  options.python = "/nonexistent/python3";
  const Report report = diagnose({folder / ""}, options);
  EXPECT_TRUE(std::any_of(report.inputs.begin(), report.inputs.end(), [](const ReportInput& each) {
    return each.path.ends_with("train.py") && !each.warnings.empty();
  }));
}

TEST(CodeEvidence, TheDiagnosisNamesTheCauseThatTheProgramShows) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const test::Folder folder;
  folder.write("train.py", k_clips_late);
  std::string log;
  for (int step = 1; step <= 60; ++step) {
    const std::string loss = step < 20 ? std::to_string(2.0 - 0.02 * step) : "nan";
    log += "step " + std::to_string(step) + " loss " + loss + "\n";
  }
  folder.write("train.log", log);
  const Report report = diagnose({folder / ""}, {});
  ASSERT_FALSE(report.causes.empty());
  EXPECT_EQ(report.causes[0].id, "nan.no-grad-clip");
  EXPECT_TRUE(std::any_of(report.causes[0].evidence.begin(), report.causes[0].evidence.end(),
                          [](const Evidence& each) { return each.line == 9; }));
}

}  // namespace
}  // namespace aplomb::api

#include "preflight/code_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/folder.h"
#include "knowledge/code_book.h"
#include "preflight/audit_files.h"
#include "preflight/embedded_python.h"
#include "preflight/run_python.h"

namespace aplomb::preflight {
namespace {

using ::testing::HasSubstr;

class CodeAuditTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  static bool has_python() {
    return run_python("python3", "print(1)", {}, std::chrono::seconds(30)).has_value();
  }
  test::Folder folder_;
};

TEST_F(CodeAuditTest, NamesTheLineAndHowItShouldRead) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string path =
      write("train.py", "import torch\nloss = -torch.log(torch.softmax(logits, dim=-1)).mean()\n");
  const CodeAudit audit = audit_programs({path}, {});
  EXPECT_TRUE(audit.troubles.empty());
  ASSERT_EQ(audit.findings.size(), 1U);
  EXPECT_TRUE(audit.findings[0].is_mistake);
  EXPECT_EQ(audit.findings[0].places[0].offset, 13U);
  const ReportFinding finding = report_of(audit.findings[0]);
  EXPECT_EQ(finding.id, "code.log-of-softmax");
  EXPECT_EQ(finding.title, "The logarithm of a softmax");
  EXPECT_THAT(finding.leads_to, ::testing::ElementsAre("nan.unstable-op"));
  EXPECT_EQ(finding.severity, "unstable");
  EXPECT_EQ(finding.evidence[0].line, 2U);
  EXPECT_THAT(finding.evidence[0].text, HasSubstr("torch.log(torch.softmax"));
  EXPECT_THAT(finding.remedies[0].rendered.at("python"),
              HasSubstr("F.log_softmax(logits, dim=-1)"));
}

TEST_F(CodeAuditTest, SaysWhichProgramCannotBeParsedAndAuditsTheOthers) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string bad = write("bad.py", "def (:\n");
  const std::string good = write("good.py", "x = 1\n");
  const CodeAudit audit = audit_programs({bad, good}, {});
  ASSERT_EQ(audit.troubles.size(), 1U);
  EXPECT_EQ(audit.troubles[0].path, bad);
  EXPECT_TRUE(audit.findings.empty());
}

TEST_F(CodeAuditTest, SaysSoWhereThereIsNoPython) {
  const CodeAudit audit = audit_programs({"train.py"}, {"/nonexistent/python3", {}});
  EXPECT_TRUE(audit.findings.empty());
  ASSERT_EQ(audit.troubles.size(), 1U);
  EXPECT_THAT(audit.troubles[0].text, HasSubstr("/nonexistent/python3"));
}

TEST_F(CodeAuditTest, SaysANoteOnceAFileWithAllItsPlaces) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string path = write("train.py",
                                 "import torch\na = torch.cuda.amp.GradScaler()\n"
                                 "b = torch.cuda.amp.GradScaler()\n");
  const CodeAudit audit = audit_programs({path}, {});
  ASSERT_EQ(audit.findings.size(), 1U);
  EXPECT_EQ(audit.findings[0].id, "code.deprecated-amp");
  EXPECT_EQ(audit.findings[0].places.size(), 2U);
}

TEST_F(CodeAuditTest, FillsTheTextsInWithWhatTheRuleSaw) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string path =
      write("train.py",
            "import torch; torch.manual_seed(0)\nmodel = torch.nn.Linear(2, 2)\n"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for x in data:\n    loss = model(x).mean()\n"
            "    loss.backward()\n    opt.step()\n");
  const CodeAudit audit = audit_programs({path}, {});
  ASSERT_EQ(audit.findings.size(), 1U);
  EXPECT_EQ(audit.findings[0].id, "code.no-zero-grad");
  EXPECT_EQ(audit.findings[0].places[0].line, 7U);
  EXPECT_THAT(audit.findings[0].because, HasSubstr("the gradients of opt."));
}

TEST_F(CodeAuditTest, RunsNothingOfTheProgramNorOfTheFolderAroundIt) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string touched = folder_ / "touched";
  const std::string trap = "open(" + ("'" + touched + "'") + ", 'w')\n";
  write("sitecustomize.py", trap);
  write("ast.py", trap);
  const std::string path = write("train.py", trap + "import torch\n");
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(path).parent_path());
  const CodeAudit audit = audit_programs({path}, {});
  std::filesystem::current_path(here);
  EXPECT_TRUE(audit.troubles.empty());
  EXPECT_FALSE(std::filesystem::exists(touched));
}

TEST_F(CodeAuditTest, AnInterpreterMayUseOnlySoMuchOfTheMachine) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const std::string program =
      "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass\n";
  EXPECT_FALSE(
      run_python("python3", program, "", std::chrono::seconds(60), Packages::none).has_value());
  EXPECT_THAT(embedded_request("__main__", {}, {3, 1U << 20U}), HasSubstr("\"cpu_s\":3"));
}

TEST(FindPython, AsksNoFolderThatIsRelativeAndTakesNoShimWhereItNeedsNoPackages) {
  const test::Folder folder;
  const std::string shim = folder.write("python-of-a-manager", "#!/bin/sh\nexit 1\n");
  std::filesystem::permissions(shim, std::filesystem::perms::owner_all);
  const std::string own = std::filesystem::path(shim).parent_path().string();
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (".:" + own).c_str(), 1);
  EXPECT_EQ(find_python("python-of-a-manager", Packages::installed), shim);
  EXPECT_EQ(find_python("no-such-python", Packages::none), "");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(find_python("/usr/bin/python3", Packages::none), "/usr/bin/python3");
}

/// The names of the rules in the embedded package: `@rule("code.no-zero-grad")`.
std::set<std::string> rules_of_the_audit() {
  std::set<std::string> names;
  constexpr std::string_view k_mark = "@rule(\"";
  for (std::size_t i = 0; i < k_audit_file_count; ++i) {
    const std::string_view text = k_audit_files[i].text;
    for (std::size_t at = text.find(k_mark); at != std::string_view::npos;
         at = text.find(k_mark, at + 1)) {
      const std::size_t begin = at + k_mark.size();
      if (text.substr(begin, 5) == "code.")
        names.emplace(text.substr(begin, text.find('"', begin) - begin));
    }
  }
  return names;
}

TEST(CodeBook, EveryRuleOfTheAuditHasItsTextsAndEveryFindingItsRule) {
  const std::set<std::string> rules = rules_of_the_audit();
  EXPECT_GT(rules.size(), 100U);
  for (const std::string& id : rules) {
    const knowledge::CodeEntry* entry = knowledge::code_book().find(id);
    ASSERT_NE(entry, nullptr) << id;
    EXPECT_FALSE(entry->only_fragment) << id;
  }
  for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
    const bool is_of_the_audit = !entry.is_sign && !entry.only_fragment;
    EXPECT_EQ(rules.count(entry.id), is_of_the_audit ? 1U : 0U) << entry.id;
  }
}

TEST_F(CodeAuditTest, EndsAnInterpreterThatDoesNotAnswer) {
  const std::string slow = write("slow", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(slow, std::filesystem::perms::owner_all);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(run_python(slow, "", "x", std::chrono::seconds(1)).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(CodeAuditTest, SurvivesAnInterpreterThatReadsNothing) {
  EXPECT_FALSE(run_python("/bin/true", "", std::string(1U << 22U, 'x'), std::chrono::seconds(10))
                   .has_value());
}

}  // namespace
}  // namespace aplomb::preflight

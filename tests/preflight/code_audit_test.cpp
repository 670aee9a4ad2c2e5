#include "preflight/code_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/folder.h"
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
  const CodeAudit audit = audit_programs({path});
  EXPECT_TRUE(audit.troubles.empty());
  ASSERT_EQ(audit.findings.size(), 1U);
  const ReportFinding& finding = audit.findings[0];
  EXPECT_EQ(finding.id, "code.log-softmax");
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
  const CodeAudit audit = audit_programs({bad, good});
  ASSERT_EQ(audit.troubles.size(), 1U);
  EXPECT_EQ(audit.troubles[0].path, bad);
  EXPECT_TRUE(audit.findings.empty());
}

TEST_F(CodeAuditTest, SaysSoWhereThereIsNoPython) {
  const CodeAudit audit = audit_programs({"train.py"}, "/nonexistent/python3");
  EXPECT_TRUE(audit.findings.empty());
  ASSERT_EQ(audit.troubles.size(), 1U);
  EXPECT_THAT(audit.troubles[0].text, HasSubstr("/nonexistent/python3"));
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

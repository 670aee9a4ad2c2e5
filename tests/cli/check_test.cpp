#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::content;
using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

constexpr const char* k_config =
    "base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_r: 16\nlora_alpha: 32\n"
    "sequence_len: 2048\nlearning_rate: 0.01\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 8\nnum_epochs: 2\nmax_grad_norm: 0\nbf16: true\n";

TEST(CheckCommand, NamesTheLineAndTheChangeInTheUsersKeys) {
  const Folder folder;
  const std::string config = folder.write("train.yml", k_config);
  const Said said = run_program("% check " + config);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("UNSTABLE"));
  EXPECT_THAT(said.out, HasSubstr("train.yml:6: learning_rate: 0.01"));
  EXPECT_THAT(said.out, HasSubstr("max_grad_norm: 1"));
  EXPECT_THAT(said.out, HasSubstr("Global batch 16"));
}

TEST(CheckCommand, JudgesForTheCardThatIsNamed) {
  const Folder folder;
  const std::string config = folder.write("train.yml", k_config);
  EXPECT_THAT(run_program("% check --gpu T4 " + config).out, HasSubstr("without bf16 units"));
  EXPECT_THAT(run_program("% check --gpu A100 " + config).out,
              ::testing::Not(HasSubstr("without bf16 units")));
}

TEST(CheckCommand, WritesAFileThatItFindsNothingIn) {
  const Folder folder;
  const std::string config = folder.write("train.yml", k_config);
  const std::string fixed = folder / "fixed.yml";
  EXPECT_EQ(run_program("% check " + config + " --fix " + fixed).status, 1);
  EXPECT_THAT(content(fixed), HasSubstr("max_grad_norm: 1"));
  const Said again = run_program("% check " + fixed);
  EXPECT_EQ(again.status, 0) << again.out;
  EXPECT_THAT(again.out, HasSubstr("READY"));
}

TEST(CheckCommand, GivesTheReportAsJsonSarifAndAPage) {
  const Folder folder;
  const std::string config = folder.write("train.yml", k_config);
  const Said said = run_program("% check --json --sarif " + (folder / "a.sarif") + " --html " +
                                (folder / "a.html") + " " + config);
  const auto report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["schema"], "aplomb.report/1");
  EXPECT_EQ(report["verdict"], "unstable");
  EXPECT_GE(report["findings"].size(), 2U);
  EXPECT_EQ(report["findings"][0]["evidence"][0]["line"], 6);
  const auto sarif = nlohmann::json::parse(content(folder / "a.sarif"));
  EXPECT_EQ(sarif["runs"][0]["results"].size(), report["findings"].size());
  EXPECT_THAT(content(folder / "a.html"), HasSubstr("<h2>Findings</h2>"));
}

TEST(CheckCommand, KeepsConfigurationsOfOneFolderApart) {
  const Folder folder;
  folder.write("a.yml", k_config);
  std::string other = k_config;
  other.replace(other.find("0.01"), 4, "0.0002");
  other.replace(other.find("max_grad_norm: 0"), 16, "max_grad_norm: 1");
  folder.write("b.yml", other);
  const auto report = nlohmann::json::parse(run_program("% check --json " + (folder / "")).out);
  for (const auto& finding : report["findings"]) {
    if (finding["severity"] == "note") continue;
    EXPECT_THAT(finding["evidence"][0]["path"].get<std::string>(), HasSubstr("a.yml"))
        << finding["id"];
  }
}

TEST(CheckCommand, ChecksDataAndCountsItsRowsIntoTheRun) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 640; ++i)
    rows += "{\"prompt\": \"q" + std::to_string(i) + "\", \"completion\": \"" +
            (i == 99 ? "" : "a") + "\"}\n";
  const std::string data = folder.write("train.jsonl", rows);
  const Said said = run_program("% check " + folder.write("train.yml", k_config) + " " + data);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("train.jsonl:100: {\"prompt\": \"q99\""));
  const Said json = run_program("% check --json " + (folder / "train.yml") + " " + data);
  EXPECT_THAT(json.out, HasSubstr("40 steps a pass over 640 samples"));
}

TEST(CheckCommand, AuditsProgramsAndSaysWhereItCannot) {
  const Folder folder;
  const std::string program = folder.write(
      "train.py", "import torch\nloss = -torch.log(torch.softmax(logits, dim=-1)).mean()\n");
  const Said said = run_program("% check " + program);
  if (said.out.find("there is no python3") == std::string::npos) {
    EXPECT_EQ(said.status, 1);
    EXPECT_THAT(said.out, HasSubstr("train.py:2: loss ="));
    EXPECT_THAT(said.out, HasSubstr("F.log_softmax(logits, dim=-1)"));
  }
  const Said without = run_program("PATH=/nonexistent % check " + program);
  EXPECT_EQ(without.status, 1);  // not READY: nobody has looked
  EXPECT_THAT(without.out, HasSubstr("UNCLEAR"));
  EXPECT_THAT(without.out, HasSubstr("the code was not audited: there is no python3"));
}

TEST(CheckCommand, SaysThatACardIsNotKnown) {
  const Folder folder;
  const std::string path = folder.write("train.yml", "base_model: m\nlearning_rate: 0.0001\n");
  EXPECT_THAT(run_program("% check --gpu FooCard " + path).error, HasSubstr("FooCard: no card"));
  EXPECT_EQ(run_program("% check --gpu 'NVIDIA A100 80GB' " + path).error, "");
}

TEST(CheckCommand, SaysTwoForWhatIsNotThereOrHoldsNothing) {
  EXPECT_EQ(run_program("% check /nonexistent/train.yml").status, 2);
  const Folder folder;
  EXPECT_EQ(run_program("% check " + folder.write("empty.yml", "")).status, 2);
}

}  // namespace
}  // namespace aplomb::cli

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

TEST(DiagnoseCommand, SaysTwoWhereAPathDoesNotExist) {
  const Said said = run_program("% diagnose /nowhere/at/all");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("/nowhere/at/all: no such file or folder"));
  EXPECT_EQ(said.out, "");
}

TEST(DiagnoseCommand, SaysTwoForAWrongOption) {
  EXPECT_EQ(run_program("% diagnose").status, 2);
  EXPECT_EQ(run_program("% diagnose --nonsense /tmp").status, 2);
  EXPECT_EQ(run_program("% diagnose --most 0 /tmp").status, 2);
  EXPECT_EQ(run_program("% nonsense").status, 2);
}

TEST(DiagnoseCommand, ShowsHelpWithExamplesAndVersionWithStatusZero) {
  const Said help = run_program("% diagnose --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(help.out, HasSubstr("Exit status"));
  EXPECT_EQ(run_program("% --help").status, 0);
  const Said version = run_program("% --version");
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("aplomb [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

/// What is read of a large log is told, and its evidence stands where it stands in the whole.
TEST(DiagnoseCommand, ReadsOfALargeLogWhatTellsTheMost) {
  const Folder folder;
  std::string text;
  for (int i = 1; i <= 30000; ++i) {
    const std::string loss = i >= 23456 ? "nan" : "2." + std::to_string(1000 + i * 7919 % 8999);
    text += "step " + std::to_string(i) + " | loss " + loss + " | grad_norm 1.5 | lr 1e-3\n";
  }
  const std::string log = folder.write("train.log", text);
  const auto whole = nlohmann::json::parse(run_program("% diagnose --json " + log).out);
  const auto sampled =
      nlohmann::json::parse(run_program("% diagnose --json --max-read 64K " + log).out);
  EXPECT_EQ(sampled["verdict"], whole["verdict"]);
  EXPECT_EQ(sampled["causes"][0]["id"], whole["causes"][0]["id"]);
  EXPECT_EQ(sampled["causes"][0]["evidence"][0]["line"], whole["causes"][0]["evidence"][0]["line"]);
  EXPECT_LT(sampled["series"][0]["points"], whole["series"][0]["points"]);
  EXPECT_THAT(sampled["inputs"][0]["warnings"].dump(), HasSubstr("--max-read 0"));
  EXPECT_EQ(whole["inputs"][0]["warnings"].size(), 0U);
  for (const char* wrong : {"x", "-1", "16Q", "1e99", "16MBs", ""})
    EXPECT_EQ(run_program("% diagnose --max-read '" + std::string(wrong) + "' " + log).status, 2)
        << wrong;
}

TEST(DiagnoseCommand, FailsWithAReasonWhereOutputCannotBeWritten) {
  const Folder folder;
  const std::string log = folder.write("train.log", "{'loss': 2.5, 'step': 1}\n");
  const Said full = run_program("% diagnose --json " + log + " > /dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.error, HasSubstr("cannot write to standard output"));
}

/// A run that blows up at a learning rate far above what its kind stands.
std::string exploding_log() {
  std::string log;
  double loss = 4.0;
  for (int step = 1; step <= 60; ++step) {
    loss = step < 30 ? loss - 0.03 : loss * 1.6;
    const std::string shown = step < 52 ? std::to_string(loss) : "nan";
    log += "{'loss': " + shown +
           ", 'grad_norm': " + (step < 52 ? std::to_string(loss * 2) : "nan") +
           ", 'learning_rate': 0.05, 'epoch': " + std::to_string(step * 0.01) + "}\n";
  }
  return log;
}

TEST(DiagnoseCommand, FindsABrokenRunAndSaysSoInItsStatus) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said = run_program("% diagnose " + log);
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, ::testing::StartsWith("FAILED"));
  EXPECT_THAT(said.out, HasSubstr("train.log:"));
  EXPECT_EQ(said.error, "");  // no progress line where nobody looks
}

TEST(DiagnoseCommand, ReadsStandardInputAndLeavesNothingBehind) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said =
      run_program("export TMPDIR=" + (folder / "") + "; cat " + log + " | % diagnose --json -");
  EXPECT_EQ(said.status, 1);
  const auto report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["inputs"][0]["path"], "standard input");
  EXPECT_EQ(report["verdict"], "failed");
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
    left += entry.exists() ? 1 : 0;
  EXPECT_EQ(left, 1U);  // the log
}

TEST(DiagnoseCommand, WritesThePageBesideTheReport) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string page = folder / "report.html";
  EXPECT_EQ(run_program("% diagnose " + log + " --html " + page).status, 1);
  EXPECT_THAT(test::content(page), ::testing::StartsWith("<!doctype html>"));
  EXPECT_FALSE(std::filesystem::exists(page + ".part"));
}

TEST(DiagnoseCommand, FailsWithAReasonWhereThePageCannotBeWritten) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said = run_program("% diagnose " + log + " --html /nowhere/at/all/report.html");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error,
              HasSubstr("cannot write /nowhere/at/all/report.html: No such file or directory"));
}

TEST(DiagnoseCommand, SaysSoWhereThePipeIsClosed) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const Said said =
      run_program("{ sleep 0.3; % diagnose --json " + log + "; echo status $? >&2; } | true");
  EXPECT_THAT(said.error, HasSubstr("Broken pipe"));
  EXPECT_THAT(said.error, HasSubstr("status 2"));
}

TEST(DiagnoseCommand, PutsTheRemedyIntoACopyOfTheConfiguration) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string config = folder.write(
      "axolotl.yaml",
      "base_model: m\nsequence_len: 512\n# mine\nlearning_rate: 0.05\nwarmup_ratio: 0.0\n"
      "max_grad_norm: 0\nmicro_batch_size: 2\n");
  const std::string before = test::content(config);
  const std::string out = folder / "fixed.yaml";
  const Said said = run_program("% diagnose " + log + " " + config + " --fix " + out);
  EXPECT_EQ(said.status, 1) << said.error;
  EXPECT_THAT(said.error, HasSubstr("wrote " + out));
  EXPECT_EQ(test::content(config), before);
  EXPECT_NE(test::content(out), before);
  EXPECT_THAT(test::content(out), HasSubstr("# mine"));
}

TEST(DiagnoseCommand, NeverWritesToAnInput) {
  const Folder folder;
  const std::string log = folder.write("train.log", exploding_log());
  const std::string config =
      folder.write("axolotl.yaml", "learning_rate: 0.05\nmicro_batch_size: 2\n");
  const Said said = run_program("% diagnose " + log + " " + config + " --fix " + config);
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(test::content(config), "learning_rate: 0.05\nmicro_batch_size: 2\n");
}

/// Bytes that turn a line around, hide or command a terminal, wherever a text comes from the input.
TEST(Diagnose, NothingThatItSaysHidesACharacter) {
  const Folder folder;
  const std::string bad =
      "\xC2\x9B"
      "31m\xE2\x80\xAE"
      "kcab\xE2\x80\x8B\x1b]0;x\x07";
  folder.write("run/tr" + std::string("\xE2\x80\xAE") + "ain.log",
               "step 1 loss 2.0 m" + bad +
                   ": 1\nRuntimeError: CUDA out of memory. Tried to "
                   "allocate 2.00 GiB " +
                   bad + "\nstep 2 loss nan\n");
  folder.write("run/config.yaml", "model_name_or_path: a" + bad + "\nlearning_rate: 1e-3\n");
  const std::string page = folder / "page.html";
  const Said text = run_program("% diagnose " + (folder / "run") + " --verbose --html " + page);
  const Said json = run_program("% diagnose " + (folder / "run") + " --json");
  for (const std::string& said : {text.out, json.out, text.error, content(page)}) {
    for (const char* hidden : {"\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\x8B", "\x1b", "\x07"})
      EXPECT_EQ(said.find(hidden), std::string::npos) << said;
  }
  EXPECT_NE(text.out.find("<U+202E>"), std::string::npos) << text.out;
  EXPECT_NE(json.out.find("<U+202E>"), std::string::npos) << json.out;
  EXPECT_NE(content(page).find("&lt;U+202E&gt;"), std::string::npos);
}

TEST(Diagnose, RedactsItsViewsAndSaysWhatItTookOut) {
  const Folder folder;
  const std::string key = std::string("hf_U8J") + "ZpDE0iGXlD6gNCFbaEPFjbD0kH8Oool";
  folder.write("home/zebediah/run/train.log",
               "zebediah@node-gpu-117:/home/zebediah/run$ export HF_TOKEN=" + key +
                   "\nstep 1 loss 2.0\nstep 2 loss nan\nRuntimeError: CUDA out of memory. Tried to "
                   "allocate 2.00 GiB by zebediah@corp.example on node-gpu-117 " +
                   key + "\n");
  folder.write("home/zebediah/run/config.yaml",
               "model_name_or_path: /home/zebediah/models/llama\nlearning_rate: 1e-3\n");
  const std::string run = folder / "home";
  const std::string page = folder / "page.html";
  const Said plain = run_program("% diagnose " + run + " --json --verbose");
  ASSERT_NE(plain.out.find("zebediah"), std::string::npos);
  const Said json = run_program("% diagnose " + run + " --json --redact --html " + page);
  const Said text = run_program("% diagnose " + run + " --verbose --redact");
  EXPECT_EQ(json.status, plain.status);
  EXPECT_TRUE(nlohmann::json::accept(json.out)) << json.out;
  for (const std::string& said : {json.out, text.out, content(page)}) {
    for (const std::string& name : {std::string("zebediah"), std::string("node-gpu-117"), key})
      EXPECT_EQ(said.find(name), std::string::npos) << name << " in " << said;
  }
  EXPECT_NE(json.out.find("loss"), std::string::npos);
  EXPECT_NE(json.error.find("redacted:"), std::string::npos) << json.error;
  EXPECT_EQ(json.error.find(key), std::string::npos) << "the list shows no key whole";
}

/// What lies beside a file that was named was not asked for.
TEST(Diagnose, OneNamedFileIsJudgedAlone) {
  const Folder folder;
  const std::string head = R"({"w.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::uint64_t size = head.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  file += head + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  const std::string named = folder.write("run/model.safetensors", file);
  folder.write("run/optimizer.pt",
               "\x80\x04"
               "cos\nsystem\n(S'id'\ntR.");
  const Said whole = run_program("% diagnose " + (folder / "run") + " --json");
  EXPECT_NE(whole.out.find("pickle.dangerous"), std::string::npos) << whole.out;
  const Said alone = run_program("% diagnose " + named + " --json");
  EXPECT_EQ(alone.out.find("pickle.dangerous"), std::string::npos) << alone.out;
  EXPECT_EQ(alone.out.find("optimizer.pt"), std::string::npos) << alone.out;
  const Said scanned = run_program("% ckpt scan " + named + " --json");
  EXPECT_EQ(scanned.out.find("pickle.dangerous"), std::string::npos) << scanned.out;
}

}  // namespace
}  // namespace aplomb::cli

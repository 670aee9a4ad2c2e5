#include "discovery/collect.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "sources/made_files.h"

namespace aplomb::discovery {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone afterwards.
class CollectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ =
        fs::temp_directory_path() / ("aplomb_collect_" + std::to_string(::getpid()) + test->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& bytes) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << bytes;
  }
  std::vector<aplomb::record::Run> runs() const { return collect({root_.string()}, {}); }

  fs::path root_;
};

std::string state(int first, int last, double offset = 0) {
  std::string text = "{\"log_history\": [";
  for (int step = first; step <= last; step += 10) {
    text += "{\"loss\": " + std::to_string(3.0 - 0.001 * step + offset) +
            ", \"step\": " + std::to_string(step) + "}, ";
  }
  return text.substr(0, text.size() - 2) + "]}";
}

std::string events(int first, int last, float offset = 0) {
  std::string file = test::version_event();
  for (int step = first; step <= last; step += 10) {
    file +=
        test::scalar_event(step, "train/loss", 3.0F - 0.001F * static_cast<float>(step) + offset);
  }
  return file;
}

std::size_t sources_of_kind(const aplomb::record::Run& run, const std::string& kind) {
  return static_cast<std::size_t>(
      std::count_if(run.sources.begin(), run.sources.end(),
                    [&](const record::Source& source) { return source.kind == kind; }));
}

TEST_F(CollectTest, OutputFolderOfOneRunIsOneRun) {
  write("out/trainer_state.json", state(10, 200));
  write("out/checkpoint-100/trainer_state.json", state(10, 100));
  write("out/checkpoint-200/trainer_state.json", state(10, 200));
  write("out/checkpoint-200/model.safetensors", "not read");
  write("out/runs/Aug02_10-00-00_host/events.out.tfevents.1.host.1.0", events(10, 200));
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(sources_of_kind(found[0], "checkpoint"), 1U);
  EXPECT_EQ(sources_of_kind(found[0], "tensorboard"), 1U);
  ASSERT_NE(found[0].primary(record::Role::loss), nullptr);
  EXPECT_EQ(found[0].primary(record::Role::loss)->count, 20U);
  EXPECT_EQ(found[0].restarts, 0U);
  const auto of_state = std::count_if(
      found[0].series.begin(), found[0].series.end(), [&](const record::Series& series) {
        return series.role == record::Role::loss &&
               found[0].sources[series.source].kind == "trainer-state";
      });
  EXPECT_EQ(of_state, 1);  // an older checkpoint's state only repeats the newest
}

TEST_F(CollectTest, NewestCheckpointStandsInForTheStateOfARunThatDied) {
  write("checkpoint-90/trainer_state.json", state(10, 90));
  write("checkpoint-1000/trainer_state.json", state(10, 1000));
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].primary(record::Role::loss)->step.back(), 1000);
}

TEST_F(CollectTest, ResumedEventFilesAreLaidEndToEnd) {
  write("tb/events.out.tfevents.100.host.1.0", events(10, 200));
  write("tb/events.out.tfevents.200.host.1.0", events(160, 300, 0.5F));
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  const record::Series* loss = found[0].primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->count, 35U);
  EXPECT_EQ(found[0].restarts, 1U);
  EXPECT_EQ(loss->segment.front(), 0);
  EXPECT_EQ(loss->segment.back(), 1);
  EXPECT_NE(loss->origin(0).source, loss->origin(34).source);
  EXPECT_EQ(found[0].sources[loss->origin(34).source].path,
            (root_ / "tb/events.out.tfevents.200.host.1.0").string());
}

TEST_F(CollectTest, RunsInFoldersBesideEachOtherAreSeveral) {
  write("a/trainer_state.json", state(10, 100));
  write("b/trainer_state.json", state(10, 100, 1.0));
  write("lightning_logs/version_0/metrics.csv", "step,train_loss\n1,2\n2,1\n");
  write("lightning_logs/version_1/metrics.csv", "step,train_loss\n1,3\n2,2\n");
  EXPECT_EQ(runs().size(), 4U);
}

TEST_F(CollectTest, LogsOfTheSameStepsWithOtherValuesAreSeveralRuns) {
  write("sweep/lr1.jsonl",
        "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":3,\"loss\":2}\n{\"step\":4,"
        "\"loss\":2}\n{\"step\":5,\"loss\":1}\n");
  write("sweep/lr2.jsonl",
        "{\"step\":1,\"loss\":4}\n{\"step\":2,\"loss\":5}\n{\"step\":3,\"loss\":6}\n{\"step\":4,"
        "\"loss\":7}\n{\"step\":5,\"loss\":8}\n");
  write("sweep/copy.csv", "step,loss\n1,4\n2,5\n3,6\n4,7\n5,8\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].sources.size() + found[1].sources.size(), 3U);
}

TEST_F(CollectTest, ConfigurationBesideARunBelongsToIt) {
  write("conf/readme.unknown", std::string("\x01\x02 no text", 10));
  write("out/metrics.csv", "step,loss\n1,2\n2,1\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].sources.size(), 2U);
}

TEST_F(CollectTest, MlflowMetricsOfARunAreOneRun) {
  write("mlruns/1/ab/metrics/train/loss", "1628697792090 3 0\n1628697792091 2 1\n");
  write("mlruns/1/ab/metrics/custom/deep/lr", "1628697792090 0.1 0\n1628697792091 0.1 1\n");
  write("mlruns/1/cd/metrics/train/loss", "1628697792090 5 0\n1628697792091 4 1\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].series.size(), 2U);
}

TEST_F(CollectTest, CurvesOfAddScalarsAreNoRuns) {
  write("tb/events.out.tfevents.1.host", events(10, 50));
  std::string curve = test::version_event() + test::scalar_event(10, "Loss", 2.0F);
  write("tb/Loss_val/events.out.tfevents.2.host", curve);
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].primary(record::Role::eval_loss), nullptr);
}

TEST_F(CollectTest, RanksOfOneRunAreToldByTheirFiles) {
  write("logs/attempt_0/0/metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n");
  write("logs/attempt_0/1/metrics.jsonl", "{\"step\":1,\"loss\":3.5}\n{\"step\":2,\"loss\":2.5}\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].series[0].rank, 0);
  EXPECT_EQ(found[0].series[1].rank, 1);
}

TEST_F(CollectTest, SurvivesLoopsPipesClosedFoldersAndEmptyFiles) {
  write("a/metrics.csv", "step,loss\n1,2\n2,1\n");
  write("a/empty.log", "");
  fs::create_directory_symlink(root_, root_ / "a/loop");
  fs::create_symlink("nowhere", root_ / "a/dangling.log");
  ASSERT_EQ(::mkfifo((root_ / "a/pipe.log").c_str(), 0600), 0);
  fs::create_directories(root_ / "closed");
  fs::permissions(root_ / "closed", fs::perms::none);
  const auto found = runs();
  fs::permissions(root_ / "closed", fs::perms::all);
  ASSERT_EQ(found.size(), 1U);
  const auto is_empty = [](const record::Defect& defect) { return defect.kind == "empty"; };
  EXPECT_TRUE(std::any_of(found[0].defects.begin(), found[0].defects.end(), is_empty));
  if (::geteuid() != 0) {  // root may list any folder
    const auto closed = [](const record::Defect& defect) {
      return defect.text.find("cannot list") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(found[0].defects.begin(), found[0].defects.end(), closed));
  }
}

TEST_F(CollectTest, SaysWhatIsMissingAndReadsTheRest) {
  write("metrics.csv", "step,loss\n1,2\n2,1\n");
  const auto found = collect({(root_ / "none.log").string(), (root_ / "metrics.csv").string()}, {});
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].defects.size(), 1U);
  EXPECT_EQ(found[0].defects[0].kind, "unreadable");
  EXPECT_NE(found[0].primary(record::Role::loss), nullptr);
}

TEST_F(CollectTest, BoundsTheFilesAndSaysSo) {
  for (int i = 0; i < 20; ++i) write("f" + std::to_string(i) + "/x.dat", "?");
  CollectOptions options;
  options.most_files = 5;
  const auto found = collect({root_.string()}, options);
  bool said = false;
  for (const aplomb::record::Run& run : found) {
    for (const record::Defect& defect : run.defects)
      said = said || defect.text.find("15 further files") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST_F(CollectTest, TellsItsProgressUpToTheEnd) {
  write("a/metrics.csv", "step,loss\n1,2\n2,1\n");
  write("b/metrics.csv", "step,loss\n1,2\n2,1\n");
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  CollectOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GE(done, last);
    last = done;
    all = of;
  };
  collect({root_.string()}, options);
  EXPECT_GT(all, 0U);
  EXPECT_EQ(last, all);
}

bool is_left_out(const record::Run& run, const std::string& name) {
  return std::any_of(run.defects.begin(), run.defects.end(), [&](const record::Defect& defect) {
    return defect.kind == "no-evidence" && run.sources[defect.source].path.ends_with(name);
  });
}

TEST_F(CollectTest, TagsOfAModelCardAreNoEvidence) {
  write("out/trainer_state.json", state(10, 200));
  write("out/README.md",
        "---\nlibrary_name: peft\ntags:\n- base_model:adapter:/home/user/base\n- lora\n---\n"
        "# Model Card\nloss is nan\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(is_left_out(found[0], "README.md"));
  EXPECT_TRUE(found[0].events.empty());
  EXPECT_TRUE(found[0].facts.empty());
}

TEST_F(CollectTest, NotesInAReadmeAreStillRead) {
  write("out/trainer_state.json", state(10, 200));
  write("out/README.md", "# What happened\nRuntimeError: CUDA out of memory.\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(is_left_out(found[0], "README.md"));
  EXPECT_FALSE(found[0].events.empty());
}

TEST_F(CollectTest, ALoggersNameIsNoRunOfItsOwn) {
  write("train.py", "import lightning\n");
  write("train.log", "step 1 loss 3.0\nstep 2 loss 2.0\nstep 3 loss 1.5\n");
  write("logs/glyphs/version_0/metrics.csv", "step,loss\n1,3\n2,2\n3,1.5\n");
  EXPECT_EQ(runs().size(), 1U);
}

TEST_F(CollectTest, WhatConsoleAndTrainerBothSayIsOneRun) {
  write("train.py", "import transformers\n");
  std::string log;
  std::string history;
  for (int i = 1; i <= 8; ++i) {
    const std::string loss = "3." + std::to_string(987 - 100 * i);
    log += "{'loss': '" + loss.substr(0, 4) + "1', 'epoch': '0." + std::to_string(i) + "'}\n";
    history += std::string(i > 1 ? "," : "") + "{\"loss\": " + loss.substr(0, 4) +
               "1, \"step\": " + std::to_string(5 * i) + "}";
  }
  write("train.log", log);
  write("out/checkpoint-40/trainer_state.json", "{\"log_history\": [" + history + "]}");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  // the console's log of another run stays apart
  write("other/train.log", "step 1 loss 9.5\nstep 2 loss 8.5\nstep 3 loss 7.1\n");
  EXPECT_EQ(runs().size(), 2U);
}

TEST_F(CollectTest, OwnReportsAreNoEvidenceOfTheNextDiagnosis) {
  write("train.log", "step 1 loss 3.0\nstep 2 loss 2.0\n");
  const auto before = runs();
  write("report.json",
        "{\n  \"schema\": \"aplomb.report/1\",\n  \"settings\": {\"lr\": 5}, \"loss\": 9\n}\n");
  write("diagnosis.txt",
        "FAILED    Perhaps: the learning rate is too high (95 %)\nSeen      loss is nan\n\n"
        "3 files read in out/, to step 2, pytorch. More:\n--verbose, --html FILE\n");
  write("page.txt",
        "<!doctype html>\n<html><head><meta name=\"generator\" content=\"aplomb 1.0\">"
        "loss is nan\n");
  const auto after = runs();
  ASSERT_EQ(before.size(), 1U);
  ASSERT_EQ(after.size(), 1U);
  for (const char* name : {"report.json", "diagnosis.txt", "page.txt"})
    EXPECT_TRUE(is_left_out(after[0], name)) << name;
  EXPECT_EQ(after[0].series.size(), before[0].series.size());
  EXPECT_EQ(after[0].settings.size(), before[0].settings.size());
  EXPECT_EQ(after[0].events.size(), before[0].events.size());
  EXPECT_EQ(after[0].facts.size(), before[0].facts.size());
}

TEST_F(CollectTest, TheStateThatTheTrainerSavedIsTheRunsOwn) {
  write("train.log", "step 1 loss 3.0\nstep 2 loss 2.0\n");
  write("checkpoint-2/training_state.json",
        "{\n  \"schema\": \"aplomb.training_state/1\",\n  \"step\": 2\n}\n");
  for (const auto& each : runs())
    EXPECT_FALSE(is_left_out(each, "checkpoint-2/training_state.json"));
}

TEST_F(CollectTest, RowsOfADataSetAreNoMetrics) {
  write("metrics.csv", "step,my_score\n1,2\n2,1\n");
  write("data.csv", "x0,x1,target\n0.1,0.2,1\n0.3,0.4,0\n");
  write("reviews.csv", "text,label\nthe loss is nan,1\n");
  write("pairs.jsonl", "{\"prompt\": \"loss is nan\", \"chosen\": \"a\", \"rejected\": \"b\"}\n");
  write("completions.jsonl", "{\"step\": 1, \"prompt\": \"p\", \"reward\": 0.5}\n");
  const auto found = runs();
  ASSERT_EQ(found.size(), 1U);
  for (const char* name : {"data.csv", "reviews.csv", "pairs.jsonl"})
    EXPECT_TRUE(is_left_out(found[0], name)) << name;
  for (const char* name : {"metrics.csv", "completions.jsonl"})
    EXPECT_FALSE(is_left_out(found[0], name)) << name;
  EXPECT_EQ(found[0].series.size(), 2U);
}

}  // namespace
}  // namespace aplomb::discovery

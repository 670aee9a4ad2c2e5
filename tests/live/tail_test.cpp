#include "live/tail.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/folder.h"

namespace aplomb::live {
namespace {

using test::Folder;

std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += "{'loss': " + std::to_string(3.0 - 0.01 * i) + ", 'step': " + std::to_string(i) + "}\n";
  }
  return text;
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

discovery::Artifact artifact_of(const std::string& path) {
  discovery::Artifact artifact;
  artifact.file.path = path;
  artifact.named = true;
  return artifact;
}

/// Looks until the file has been read as far as it goes.
Tail::Look settle(Tail& tail) {
  Tail::Look last = tail.look(true);
  for (int i = 0; i < 2000; ++i) {
    const Tail::Look look = tail.look(true);
    if (look != Tail::Look::same) last = look;
    if (look == Tail::Look::same && tail.caught_up()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return last;
}

std::uint64_t samples_of(const Tail& tail) {
  std::uint64_t count = 0;
  tail.with_run([&](const record::Run& run, std::uint64_t /*generation*/) {
    for (const record::Series& each : run.series) {
      if (each.name == "loss") count += each.count;
    }
  });
  return count;
}

TEST(Tail, ReadsWhatIsThereAndWhatComes) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 100));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  EXPECT_EQ(samples_of(tail), 100U);
  EXPECT_TRUE(tail.take_changed());
  EXPECT_FALSE(tail.take_changed());
  for (int i = 0; i < 20; ++i) {
    append(path, lines(101 + 10 * i, 110 + 10 * i));
    EXPECT_EQ(settle(tail), Tail::Look::grown);
    EXPECT_EQ(samples_of(tail), 110U + 10U * static_cast<unsigned>(i));
  }
  EXPECT_EQ(tail.lines_after(298).size(), 2U);
  EXPECT_EQ(tail.lines_after(298)[1].number, 300U);
}

TEST(Tail, ATableWhoseHeaderCameLongBeforeItsRowsIsReadAsTheyCome) {
  const Folder folder;
  const std::string path = folder.write("progress.csv", "step,loss,learning_rate\n");
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  EXPECT_EQ(samples_of(tail), 0U);
  for (int i = 0; i < 5; ++i) {
    append(path, std::to_string(i) + ",2." + std::to_string(i) + ",0.001\n");
    EXPECT_EQ(settle(tail), Tail::Look::grown);
    EXPECT_EQ(samples_of(tail), static_cast<unsigned>(i) + 1U);
  }
}

TEST(Tail, YoungRecordsAreReadAsTheyComeAndStayWhenTheFileIsRotatedOrCut) {
  const auto records = [](int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i)
      text += "{\"step\": " + std::to_string(i) + ", \"loss\": " + std::to_string(3.0 - 0.01 * i) +
              "}\n";
    return text;
  };
  const Folder folder;
  for (const bool rotated : {true, false}) {
    const std::string path = folder.write("metrics.jsonl", records(0, 3));
    Tail tail(artifact_of(path), folder / "", [] {});
    settle(tail);
    EXPECT_EQ(samples_of(tail), 3U);
    append(path, records(3, 10));
    EXPECT_EQ(settle(tail), Tail::Look::grown);
    EXPECT_EQ(samples_of(tail), 10U);
    if (rotated) {
      append(path, records(10, 12));
      std::filesystem::rename(path, path + ".1");
    }
    std::ofstream(path, std::ios::trunc) << records(0, 1);
    Tail::Look look = tail.look(true);
    EXPECT_EQ(look, Tail::Look::replaced);
    for (int i = 0; i < 2000 && !tail.caught_up(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(samples_of(tail), rotated ? 12U : 10U);
  }
}

TEST(Tail, WhatWasReadIsThereWhileTheFileIsReadAnew) {
  const Folder folder;
  const std::string path = folder.write("progress.csv", "step,loss\n");
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  std::uint64_t before = 0;
  for (int i = 0; i < 200; ++i) {
    append(path, std::to_string(i) + ",2.5\n");
    for (int j = 0; j < 5000; ++j) {  // a busy machine
      tail.look(true);
      const std::uint64_t now = samples_of(tail);
      ASSERT_GE(now, before);
      before = now;
      if (now == static_cast<unsigned>(i) + 1U) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(before, static_cast<unsigned>(i) + 1U);
  }
}

TEST(Tail, AHalfLineIsReadWhenItIsWhole) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 500) + "{'loss': 1.");
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  EXPECT_EQ(samples_of(tail), 500U);
  append(path, "5, 'step': 501}\n");
  settle(tail);
  EXPECT_EQ(samples_of(tail), 501U);
}

TEST(Tail, AFileThatBeginsEmptyIsReadWhenItHasSomething) {
  const Folder folder;
  const std::string path = folder.write("train.log", "");
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  EXPECT_EQ(samples_of(tail), 0U);
  append(path, lines(1, 3));
  settle(tail);
  append(path, lines(4, 30));
  settle(tail);
  EXPECT_EQ(samples_of(tail), 30U);
}

TEST(Tail, SaysThatAFileWasRotatedAndKeepsWhatItHeld) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 400));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  append(path, lines(401, 410));  // between the last look and the rotation: not lost
  std::filesystem::rename(path, path + ".1");
  folder.write("train.log", lines(411, 420));
  EXPECT_EQ(tail.look(true), Tail::Look::replaced);
  for (int i = 0; i < 5000 && samples_of(tail) < 410; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(samples_of(tail), 410U);
  EXPECT_TRUE(tail.ended());
}

TEST(Tail, SaysThatAFileWasCut) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 1000));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  folder.write("train.log", lines(1, 5));
  EXPECT_EQ(tail.look(true), Tail::Look::replaced);
  EXPECT_EQ(samples_of(tail), 1000U);
}

TEST(Tail, SaysThatAFileWasWrittenOverWithALongerOne) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 1000));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  folder.write("train.log", "a new start\n" + lines(1, 2000));
  EXPECT_EQ(tail.look(true), Tail::Look::replaced);
}

TEST(Tail, SaysThatAFileIsGone) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 1000));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  std::filesystem::remove(path);
  EXPECT_EQ(tail.look(true), Tail::Look::gone);
  EXPECT_EQ(samples_of(tail), 1000U);
  EXPECT_EQ(tail.look(true), Tail::Look::same);
}

TEST(Tail, ADocumentThatIsRewrittenIsReadAnew) {
  const Folder folder;
  const auto state = [](int steps) {
    std::string text = "{\"global_step\": " + std::to_string(steps) + ", \"log_history\": [";
    for (int i = 1; i <= steps; ++i) {
      text += std::string(i > 1 ? "," : "") +
              "{\"loss\": 1.5, \"epoch\": 0.1, \"step\": " + std::to_string(i) + "}";
    }
    return text + "], \"max_steps\": 100}";
  };
  const std::string path = folder.write("trainer_state.json", state(3));
  Tail tail(artifact_of(path), folder / "", [] {});
  settle(tail);
  EXPECT_EQ(samples_of(tail), 3U);
  folder.write("trainer_state.json.tmp", state(9));
  std::filesystem::rename(folder / "trainer_state.json.tmp", path);
  for (int i = 0; i < 2000 && samples_of(tail) < 9; ++i) {
    tail.look(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(samples_of(tail), 9U);
}

TEST(Tail, AFolderInPlaceOfAFileHoldsNobody) {
  const Folder folder;
  std::filesystem::create_directory(folder / "train.log");
  Tail tail(artifact_of(folder / "train.log"), folder / "", [] {});
  EXPECT_EQ(tail.look(true), Tail::Look::same);
  EXPECT_TRUE(tail.caught_up());
}

}  // namespace
}  // namespace aplomb::live

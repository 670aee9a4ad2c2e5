#include "live/follower.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/folder.h"
#include "watch/run_note.h"

namespace aplomb::live {
namespace {

using nlohmann::json;
using test::Folder;

std::string lines(int from, int to, const char* loss = nullptr) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    const std::string value =
        loss != nullptr ? loss : std::to_string(3.0 * std::pow(0.99, i) + 0.01 * (i % 3));
    text += "{'loss': " + value +
            ", 'grad_norm': 1.0, 'learning_rate': 2e-05, 'step': " + std::to_string(i) + "}\n";
  }
  return text;
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

/// A server's view of some paths.
struct Watched {
  explicit Watched(const std::string& path, bool may_stop = false)
      : follower({.paths = {path},
                  .may_stop = may_stop,
                  .python = "",
                  .tick = std::chrono::milliseconds(10),
                  .search = std::chrono::milliseconds(50)},
                 events) {}
  json runs() const { return json::parse(follower.summaries_text()); }
  json run(std::size_t index = 0) const {
    return json::parse(follower.run_text(runs().at(index).at("id")).value());
  }
  /// Waits until it holds, for 20 s at most.
  bool comes(const std::function<bool()>& wanted) const {
    for (int i = 0; i < 2000; ++i) {
      if (wanted()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  EventLog events;
  Follower follower;
};

std::vector<std::pair<std::int64_t, double>> points_of(const EventLog& events,
                                                       const std::string& name) {
  std::vector<std::pair<std::int64_t, double>> out;
  for (const auto& event : events.after(0, std::chrono::milliseconds(0)).events) {
    if (event->type != "points") continue;
    const json data = json::parse(event->data);
    if (!data["series"].contains(name)) continue;
    for (const json& each : data["series"][name])
      out.emplace_back(each[0].get<std::int64_t>(),
                       each[1].is_number() ? each[1].get<double>() : -1);
  }
  return out;
}

TEST(Follower, TellsOfARunWhatTheReportSays) {
  const Folder folder;
  folder.write("train.log", lines(1, 60) + lines(61, 70, "nan"));
  Watched watched(folder / "");
  watched.follower.settle();
  ASSERT_EQ(watched.runs().size(), 1U);
  const json run = watched.run();
  EXPECT_EQ(run["standing"], "failed");
  EXPECT_EQ(run["report"]["schema"], "aplomb.report/1");
  EXPECT_EQ(run["report"]["verdict"], "failed");
  EXPECT_EQ(run["step"], 70);
  EXPECT_EQ(run["log"].size(), 70U);
  EXPECT_EQ(run["series"][0]["last"], "NaN");
  bool marked = false;
  for (const json& each : run["marks"])
    marked =
        marked || (each["kind"] == "symptom" && each["from"] == 61 && each["severity"] == "error");
  EXPECT_TRUE(marked) << run["marks"];
  bool shown = false;
  for (const json& each : run["log"])
    shown = shown || (each["evidence"] == true && each["n"] == 61);
  EXPECT_TRUE(shown);
}

TEST(Follower, EachPointIsToldOnce) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 50));
  Watched watched(folder / "");
  watched.follower.start();
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  // Past 16 KiB the file is read anew from its beginning: its form is known better by then.
  for (int i = 51; i <= 350; ++i) {
    append(path, lines(i, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 7 == 0 ? 60 : 5));
  }
  ASSERT_TRUE(watched.comes([&] { return watched.runs()[0]["step"] == 350; }));
  const auto points = points_of(watched.events, "loss");
  ASSERT_EQ(points.size(), 300U);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(points[static_cast<std::size_t>(i)].first, 51 + i);
  // And a page that comes now finds all of them, judged yet or not.
  const json series =
      json::parse(*watched.follower.series_text(watched.runs()[0]["id"], "loss", {}, {}, 1000));
  EXPECT_EQ(series["steps"].size(), 350U);
  EXPECT_EQ(series["steps"].back(), 350);
}

TEST(Follower, WhoAsksAtAnyTimeFindsEveryPointSoFar) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 50));
  Watched watched(folder / "");
  watched.follower.start();
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  const std::string id = watched.runs()[0]["id"];
  std::atomic<bool> done{false};
  std::thread writes([&] {
    for (int i = 51; i <= 450; ++i) {
      append(path, lines(i, i));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    done = true;
  });
  std::size_t before = 0;
  std::size_t asked = 0;
  while (!done) {
    const json steps =
        json::parse(*watched.follower.series_text(id, "loss", {}, {}, 4000))["steps"];
    EXPECT_GE(steps.size(), before) << "points that were there are gone";
    before = steps.size();
    for (std::size_t i = 0; i < steps.size(); ++i)
      ASSERT_EQ(steps[i].get<std::size_t>(), i + 1) << "of " << steps.size();
    ++asked;
  }
  writes.join();
  EXPECT_GT(asked, 100U);
}

TEST(Follower, TheVerdictChangesWhileTheRunGoesWrong) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 60));
  Watched watched(folder / "");
  watched.follower.start();
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  EXPECT_NE(watched.runs()[0]["standing"], "failed");
  append(path, lines(61, 65, "nan"));
  EXPECT_TRUE(watched.comes([&] { return watched.runs()[0]["standing"] == "failed"; }));
  std::vector<std::string> types;
  for (const auto& each : watched.events.after(0, std::chrono::milliseconds(0)).events)
    types.push_back(each->type);
  EXPECT_NE(std::find(types.begin(), types.end(), "report"), types.end());
}

TEST(Follower, ARunThatBeginsLaterIsTakenUp) {
  const Folder folder;
  Watched watched(folder / "");
  watched.follower.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(watched.runs().empty());
  folder.write("first/train.log", lines(1, 30));
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  folder.write("second/train.log", lines(1, 40, "0.5"));
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 2; }));
}

TEST(Follower, GoesOnAcrossRotation) {
  const Folder folder;
  const std::string path = folder.write("out/train.log", lines(1, 400));
  Watched watched(folder / "");
  watched.follower.start();
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  std::filesystem::rename(path, path + ".1");
  folder.write("out/train.log", lines(401, 450));
  ASSERT_TRUE(watched.comes([&] { return watched.runs()[0]["step"] == 450; })) << watched.runs();
  EXPECT_EQ(watched.runs().size(), 1U) << watched.runs();
  append(path, lines(451, 460));
  EXPECT_TRUE(watched.comes([&] { return watched.runs()[0]["step"] == 460; }));
}

TEST(Follower, ARestartIntoTheSameFileIsToldWithItsSteps) {
  const Folder folder;
  const std::string path = folder.write("out/train.log", lines(1, 400));
  Watched watched(folder / "");
  watched.follower.start();
  ASSERT_TRUE(watched.comes([&] { return watched.runs().size() == 1; }));
  append(path, lines(301, 350));
  ASSERT_TRUE(watched.comes([&] { return watched.runs()[0]["step"] == 350; }));
  ASSERT_TRUE(watched.comes([&] {
    const json run = watched.run();
    return std::any_of(run["marks"].begin(), run["marks"].end(),
                       [](const json& each) { return each["kind"] == "restart"; });
  }));
}

TEST(Follower, OldFilesAreOfNoRunThatGoesOn) {
  const Folder folder;
  const std::string path = folder.write("train.log", lines(1, 60));
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  Watched watched(folder / "");
  watched.follower.settle();
  EXPECT_EQ(watched.runs()[0]["state"], "unknown");
  EXPECT_TRUE(watched.runs()[0]["rate"].is_null());
}

TEST(Follower, TheNoteOfTheRunSaysHowItEnded) {
  const Folder folder;
  folder.write("output.log", lines(1, 60));
  watch::RunNote note = watch::new_note();
  ASSERT_TRUE(watch::write_note(folder / "", note));
  Watched watched(folder / "");
  watched.follower.settle();
  EXPECT_EQ(watched.runs()[0]["state"], "running");
  EXPECT_EQ(watched.runs()[0]["started_at"].get<double>(), std::round(note.started * 1000) / 1000);
  note.ended = note.started + 5;
  note.status = 256;
  ASSERT_TRUE(watch::write_note(folder / "", note));
  watched.follower.settle();
  EXPECT_EQ(watched.runs()[0]["state"], "failed");
  note.stopped = true;
  ASSERT_TRUE(watch::write_note(folder / "", note));
  watched.follower.settle();
  EXPECT_EQ(watched.runs()[0]["state"], "stopped");
}

TEST(Follower, TellsTheCostSoFarWhereThePriceIsKnown) {
  const Folder folder;
  folder.write("output.log", lines(1, 60));
  watch::RunNote note = watch::new_note();
  note.started -= 1800;
  note.ended = note.started + 900;
  ASSERT_TRUE(watch::write_note(folder / "", note));
  EventLog events;
  Follower follower({.paths = {folder / ""}, .price = Price{8, "EUR"}, .python = ""}, events);
  follower.settle();
  const json cost = json::parse(follower.summaries_text())[0]["cost"];
  EXPECT_EQ(cost["so_far"], 2.0) << "a quarter of an hour";
  EXPECT_EQ(cost["per_hour"], 8.0);
  EXPECT_EQ(cost["currency"], "EUR");
  Watched free(folder / "");
  free.follower.settle();
  EXPECT_TRUE(free.runs()[0]["cost"].is_null());
}

TEST(Follower, TellsWhichRankLagsAndWhenItWasLastSeen) {
  const Folder folder;
  for (int rank = 0; rank < 3; ++rank)
    folder.write("rank_" + std::to_string(rank) + ".log", lines(1, rank == 1 ? 20 : 60));
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(10);
  std::filesystem::last_write_time(folder / "rank_1.log", old);
  Watched watched(folder / "");
  watched.follower.settle();
  const json ranks = watched.run()["ranks"];
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_EQ(ranks[1]["behind"], 40);
  EXPECT_EQ(ranks[2]["behind"], 0);
  const double apart = ranks[0]["last_at"].get<double>() - ranks[1]["last_at"].get<double>();
  EXPECT_NEAR(apart, 600, 60);
  // One that goes on is told at once, not with the next verdict.
  watched.follower.start();
  append(folder / "rank_1.log", lines(21, 50));
  EXPECT_TRUE(watched.comes([&] { return watched.run()["ranks"][1]["behind"] == 10; }));
  EXPECT_TRUE(watched.comes([&] {
    const json now = watched.run()["ranks"];
    return now[1]["last_at"].get<double>() >= now[0]["last_at"].get<double>();
  }));
  watched.follower.stop();
}

TEST(Follower, StopsNoProcessThatDoesNotWriteTheRunsLog) {
  const Folder folder;
  folder.write("output.log", lines(1, 60));
  ASSERT_TRUE(watch::write_note(folder / "",
                                watch::new_note()));  // of this process, which holds no log open
  Watched watched(folder / "", true);
  watched.follower.settle();
  EXPECT_EQ(watched.runs()[0]["can_stop"], true);
  const auto done = watched.follower.stop_run(watched.runs()[0]["id"]);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, core::ErrorCode::not_readable);
  EXPECT_EQ(watched.follower.stop_run("r0").error().code, core::ErrorCode::not_found);
}

TEST(Follower, HostileTextsComeAsVisibleText) {
  const Folder folder;
  folder.write("train.log", lines(1, 30) + "\x1b[2J\xe2\x80\xae evil \xff\xfe</script>\n");
  Watched watched(folder / "");
  watched.follower.settle();
  const std::string text = watched.follower.run_text(watched.runs()[0]["id"]).value();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_NE(text.find("<U+202E>"), std::string::npos);
}

TEST(Follower, SeriesOfSeveralRanksHaveNamesOfTheirOwn) {
  const Folder folder;
  for (int rank = 0; rank < 2; ++rank)
    folder.write("attempt_0/" + std::to_string(rank) + "/stderr.log", lines(1, 30 - 5 * rank));
  Watched watched(folder / "");
  watched.follower.settle();
  ASSERT_GE(watched.runs().size(), 1U);
  const json run = watched.run();
  std::set<std::string> names;
  for (const json& each : run["series"]) EXPECT_TRUE(names.insert(each["name"]).second);
}

}  // namespace
}  // namespace aplomb::live

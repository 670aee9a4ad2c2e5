// What a large log's sample must hold: every NaN, message, jump and restart of the whole, at its own
// line. The logs are small here and the bound smaller.

#include "log_survey/sampled_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log_text/lines.h"
#include "sources/reader.h"

namespace aplomb::sources {
std::unique_ptr<Reader> make_text_log_reader();
}

namespace aplomb {
namespace {

/// A file of its own that goes when it is done with.
class TempLog {
 public:
  explicit TempLog(const std::string& text)
      : path_(testing::TempDir() + "sampled_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".log") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TempLog() { (void)std::remove(path_.c_str()); }
  TempLog(const TempLog&) = delete;
  TempLog& operator=(const TempLog&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string record_line(int step, const std::string& loss) {
  return "step " + std::to_string(step) + " | loss " + loss + " | grad_norm 1." +
         std::to_string(10 + step % 83) + " | lr 1e-3\n";
}

/// A log of chatter in which every 20th line is a record; `odd` replaces the line of that number.
std::string log_of(int lines, int odd_line, const std::string& odd) {
  std::string text;
  for (int i = 1; i <= lines; ++i) {
    if (i == odd_line) {
      text += odd;
    } else if (i % 20 == 0) {
      text += record_line(i / 20, "2." + std::to_string(1000 + i * 7919 % 8999));
    } else {
      text += "INFO loader: shard " + std::to_string(i * 31 % 9973) + " opened by worker " +
              std::to_string(i % 16) + " and handed on\n";
    }
  }
  return text;
}

struct Seen {
  record::Run run;
  std::string account;
  std::uint64_t bytes = 0;
};

Seen read_sampled(const std::string& text, std::uint64_t most) {
  const TempLog file(text);
  const auto log = log_survey::SampledLog::open(file.path(), most);
  Seen seen;
  if (log == nullptr) return seen;
  record::RunBuilder build(seen.run);
  sources::make_text_log_reader()->read(*log, build,
                                        build.open(file.path(), "text-log", text.size()));
  seen.account = log->account();
  const auto again = log_survey::SampledLog::open(file.path(), most);
  for (std::string_view part; !(part = again->next()).empty();) seen.bytes += part.size();
  return seen;
}

record::Run read_whole(const std::string& text) {
  record::Run run;
  record::RunBuilder build(run);
  const auto bytes = input::bytes_of(text);
  sources::make_text_log_reader()->read(*bytes, build,
                                        build.open("a.log", "text-log", text.size()));
  return run;
}

constexpr int k_lines = 60000;
constexpr std::uint64_t k_most = 256U << 10U;

/// The value that the loss has in that line, if it was read.
std::optional<double> loss_at(const record::Run& run, std::uint64_t line) {
  const record::Series* loss = run.find("loss");
  if (loss == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < loss->value.size(); ++i) {
    if (loss->line[i] == line) return loss->value[i];
  }
  return std::nullopt;
}

TEST(SampledLog, ASmallLogIsReadWhole) {
  const TempLog file(log_of(100, 0, ""));
  EXPECT_EQ(log_survey::SampledLog::open(file.path(), 1U << 20U), nullptr);
  EXPECT_EQ(log_survey::SampledLog::open("/nonexistent/a.log", 1), nullptr);
  EXPECT_EQ(log_survey::SampledLog::open("/", 1), nullptr);
}

TEST(SampledLog, WhatIsPackedOrWideIsNotSampled) {
  EXPECT_EQ(log_survey::SampledLog::open(TempLog("\x1f\x8b" + std::string(9000, 'x')).path(), 100),
            nullptr);
  EXPECT_EQ(log_survey::SampledLog::open(TempLog("\xff\xfe" + std::string(9000, 'x')).path(), 100),
            nullptr);
}

TEST(SampledLog, ReadsAboutWhatItIsAllowedAndSaysSo) {
  const std::string text = log_of(k_lines, 0, "");
  const Seen seen = read_sampled(text, k_most);
  EXPECT_GT(seen.bytes, k_most / 4);
  EXPECT_LT(seen.bytes, 2 * k_most);
  EXPECT_LT(seen.bytes, text.size() / 4);
  EXPECT_NE(seen.account.find("--max-read 0"), std::string::npos) << seen.account;
}

TEST(SampledLog, EveryLineKeepsItsNumberAndOffset) {
  const std::string text = log_of(k_lines, 0, "");
  const TempLog file(text);
  const auto log = log_survey::SampledLog::open(file.path(), k_most);
  ASSERT_NE(log, nullptr);
  log_text::LineSplitter lines(*log);
  std::uint64_t number = 0;
  std::size_t at = 0;
  std::size_t given = 0;
  for (log_text::Line line; lines.next(line); ++given) {
    for (; number + 1 < line.number; ++number) at = text.find('\n', at) + 1;
    ASSERT_EQ(line.offset, at);
    ASSERT_EQ(line.text, std::string_view(text).substr(at, text.find('\n', at) - at));
  }
  EXPECT_GT(given, 1000U);
}

/// One line, anywhere: nothing of this may be passed over.
TEST(SampledLog, ANanAnywhereIsFound) {
  for (const int line : {20, 7020, 29980, 41220, 59980}) {
    const Seen seen = read_sampled(log_of(k_lines, line, record_line(line / 20, "nan")), k_most);
    const auto value = loss_at(seen.run, static_cast<std::uint64_t>(line));
    ASSERT_TRUE(value.has_value()) << line;
    EXPECT_TRUE(std::isnan(*value)) << line;
  }
}

TEST(SampledLog, AJumpOfTheSameWidthIsFound) {
  for (const int line : {7020, 29980, 41220}) {
    const Seen up = read_sampled(log_of(k_lines, line, record_line(line / 20, "9.8765")), k_most);
    EXPECT_EQ(loss_at(up.run, static_cast<std::uint64_t>(line)), 9.8765) << line;
    const Seen down = read_sampled(log_of(k_lines, line, record_line(line / 20, "0.0123")), k_most);
    EXPECT_EQ(loss_at(down.run, static_cast<std::uint64_t>(line)), 0.0123) << line;
  }
}

TEST(SampledLog, ATracebackAnywhereIsFoundWithItsFrames) {
  const std::string traceback =
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 31, in <module>\n"
      "    loss.backward()\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
  for (const int line : {7021, 29981, 41221}) {
    const std::string text = log_of(k_lines, line, traceback);
    const Seen seen = read_sampled(text, k_most);
    const record::Run whole = read_whole(text);
    ASSERT_FALSE(whole.events.empty());
    ASSERT_EQ(seen.run.events.size(), whole.events.size()) << line;
    for (std::size_t i = 0; i < whole.events.size(); ++i) {
      EXPECT_EQ(seen.run.events[i].kind, whole.events[i].kind);
      EXPECT_EQ(seen.run.events[i].origin.line, whole.events[i].origin.line);
      EXPECT_EQ(seen.run.events[i].caught, whole.events[i].caught);
    }
  }
}

/// Warnings by the hundred thousand take no room from the one failure behind them.
TEST(SampledLog, AFloodOfWarningsHidesNoFailure) {
  std::string text;
  for (int i = 1; i <= k_lines; ++i) {
    text += i == 50001 ? "RuntimeError: NCCL communicator was aborted on rank 3\n"
                       : "WARNING: input of worker" +
                             std::string(1 + i % 60, static_cast<char>('a' + i / 60 % 26)) +
                             std::string(1 + i / 1560 % 39, 'z') + " is slow\n";
  }
  const Seen seen = read_sampled(text, k_most);
  bool found = false;
  for (const record::Event& event : seen.run.events) found = found || event.origin.line == 50001;
  EXPECT_TRUE(found) << seen.account;
}

/// Dict lines state no step: what was left out counts.
TEST(SampledLog, RecordsThatAreCountedKeepTheirNumbers) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "{'loss': 2." + std::to_string(1000 + i * 7919 % 8999) + ", 'grad_norm': 1.5}\n";
  const Seen seen = read_sampled(text, 64U << 10U);
  const record::Series* loss = seen.run.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_LT(loss->value.size(), 8000U);
  for (std::size_t i = 0; i < loss->value.size(); ++i)
    EXPECT_EQ(loss->step[i] + 1, static_cast<std::int64_t>(loss->line[i])) << i;
}

/// Bars that are drawn with carriage returns into lines of megabytes.
TEST(SampledLog, BarsInOneLongLineKeepTheirPlaces) {
  std::string text;
  for (int i = 1; i <= 40000; ++i) {
    text += "\r" + std::to_string(i / 400) + "%|#         | " + std::to_string(i) +
            "/40000 [00:12<06:27,  4.00it/s, loss=2." + std::to_string(100 + i % 800) + "]";
    if (i == 31234) text += "\nRuntimeError: CUDA error: device-side assert triggered\n";
  }
  text += "\ndone\n";
  const Seen seen = read_sampled(text, 128U << 10U);
  const record::Run whole = read_whole(text);
  const record::Series* sampled = seen.run.find("loss");
  const record::Series* all = whole.find("loss");
  ASSERT_TRUE(sampled != nullptr && all != nullptr);
  EXPECT_EQ(sampled->step[sampled->size() - 1], all->step[all->size() - 1]);
  ASSERT_FALSE(seen.run.events.empty());
  EXPECT_EQ(seen.run.events.front().origin.line, whole.events.front().origin.line);
  for (std::size_t i = 0; i < sampled->value.size(); ++i)
    ASSERT_LE(
        std::abs(sampled->value[i] - (2.1 + static_cast<double>(sampled->step[i] % 800) * 1e-3)),
        2e-3)
        << sampled->step[i];
}

TEST(SampledLog, AFileThatIsCutWhileItIsReadSaysSo) {
  const TempLog file(log_of(k_lines, 0, ""));
  const auto log = log_survey::SampledLog::open(file.path(), k_most);
  ASSERT_NE(log, nullptr);
  std::ofstream(file.path(), std::ios::trunc) << "step 1\n";
  while (!log->next().empty()) {
  }
  EXPECT_NE(log->broken(), "");
}

}  // namespace
}  // namespace aplomb

#include <aplomb/recorder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/folder.h"
#include "reader_support.h"
#include "recorder/record_file.h"

namespace aplomb::sources {
namespace {

using test::chosen_reader;
using test::read_with;
namespace fs = std::filesystem;

constexpr std::uint32_t k_slots = 32;
constexpr std::uint32_t k_text = 4096;
constexpr std::size_t k_first_slot = recorder::k_head_bytes + k_text;

/// The bytes of a record of `steps` steps; step 5 was skipped.
std::string made_record(int steps, int rank = -1) {
  const fs::path path =
      fs::temp_directory_path() / ("aplomb-step-record-" + std::to_string(getpid()));
  {
    std::string error;
    const auto recorder = Recorder::open(
        path.string(), {.slots = k_slots, .text_bytes = k_text, .rank = rank}, error);
    EXPECT_TRUE(recorder) << error;
    for (int step = 0; step < steps; ++step) {
      const bool bad = step == 5;
      const RecordedValue values[] = {
          {recorder->name("loss"), bad ? std::nan("") : 2.0 + step},
          {recorder->name("grad_norm"), 0.5},
          {recorder->name("my_metric"), -1.0},
      };
      StepRecord record{.step = step, .values = values};
      if (bad) {
        record.action = 2;
        record.policy = "nonfinite";
        record.reason = "loss is nan";
      }
      recorder->record(record);
      if (bad)
        recorder->record({.step = step,
                          .policy = "autopsy.input",
                          .reason = "the batch: the input x itself holds 1 NaN; sample 3 of 8"});
    }
  }
  std::string bytes = test::content(path);
  fs::remove(path);
  return bytes;
}

TEST(StepRecord, IsKnownByItsFirstBytes) {
  const std::string bytes = made_record(3);
  EXPECT_EQ(chosen_reader("whatever.bin", bytes), "step-record");
  EXPECT_NE(chosen_reader("whatever.bin", bytes.substr(1)), "step-record");
}

TEST(StepRecord, GivesSeriesByTheirRolesAndVerdictsAsEvents) {
  const aplomb::record::Run run = read_with("step-record", made_record(20));
  ASSERT_EQ(run.series.size(), 3U);
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->size(), 20U);
  EXPECT_EQ(loss->step[7], 7);
  EXPECT_EQ(loss->value[7], 9.0);
  EXPECT_TRUE(std::isnan(loss->value[5]));
  EXPECT_NE(run.primary(record::Role::grad_norm), nullptr);
  EXPECT_NE(run.find("my_metric"), nullptr);
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(run.events[1].kind, "autopsy-input");
  EXPECT_EQ(run.events[1].text,
            "step 5: autopsy: the batch: the input x itself holds 1 NaN; sample 3 of 8");
  EXPECT_EQ(run.events[0].kind, "guard-skip");
  EXPECT_EQ(run.events[0].step, 5);
  EXPECT_EQ(run.events[0].text, "step 5: the guard (nonfinite) skipped the step: loss is nan");
  EXPECT_EQ(run.events[0].severity, core::Severity::note);
  EXPECT_TRUE(run.defects.empty()) << run.defects[0].text;
}

TEST(StepRecord, ARingThatHasGoneRoundIsInOrder) {
  const aplomb::record::Run run = read_with("step-record", made_record(100));
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_EQ(loss->size(), k_slots);
  for (std::size_t i = 0; i < k_slots; ++i)
    EXPECT_EQ(loss->step[i], static_cast<std::int64_t>(100 - k_slots + i));
  EXPECT_EQ(run.restarts, 0U);
}

TEST(StepRecord, SaysWhichRankWrote) {
  EXPECT_EQ(read_with("step-record", made_record(3, 6)).series[0].rank, 6);
}

TEST(StepRecord, DamagedSlotsAreLeftOutAndSaid) {
  std::string bytes = made_record(20);
  bytes[k_first_slot + 3 * 128 + 40] ^= 0x10;
  const aplomb::record::Run run = read_with("step-record", bytes);
  EXPECT_EQ(run.primary(record::Role::loss)->size(), 19U);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "bad-crc");
  EXPECT_NE(run.defects[0].text.find("1 of 21 records"), std::string::npos) << run.defects[0].text;
}

TEST(StepRecord, TheRecordInFlightIsNoAlarm) {
  std::string bytes = made_record(20);
  std::memset(bytes.data() + k_first_slot + 19 * 128, 0, 8);
  const aplomb::record::Run run = read_with("step-record", bytes);
  EXPECT_EQ(run.primary(record::Role::loss)->size(), 19U);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].severity, core::Severity::note);
}

TEST(StepRecord, AnySizeOfPartsGivesTheSame) {
  const std::string bytes = made_record(20);
  const aplomb::record::Run whole = read_with("step-record", bytes);
  for (const std::size_t part : {1U, 7U, 128U, 4096U, 5000U})
    test::expect_same_series(whole, read_with("step-record", bytes, part));
}

TEST(StepRecord, ACutFileGivesWhatIsThere) {
  const std::string bytes = made_record(20);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{20}, std::size_t{5000}, k_first_slot + 128 * 4 + 60}) {
    const aplomb::record::Run run = read_with("step-record", bytes.substr(0, size));
    ASSERT_FALSE(run.defects.empty()) << size;
    if (size > k_first_slot) {
      EXPECT_EQ(run.primary(record::Role::loss)->size(), 4U);
    }
  }
}

TEST(StepRecord, AHeadThatLiesIsRefused) {
  std::string bytes = made_record(3);
  bytes[12] = '\x7F';  // the number of slots
  const aplomb::record::Run run = read_with("step-record", bytes);
  EXPECT_TRUE(run.series.empty());
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_NE(run.defects[0].text.find("checksum"), std::string::npos);
}

}  // namespace
}  // namespace aplomb::sources

#include <aplomb/recorder.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "core/folder.h"
#include "recorder/record_file.h"

namespace aplomb::recorder {
namespace {

namespace fs = std::filesystem;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    folder_ = fs::temp_directory_path() /
              ("aplomb-recorder-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    path_ = folder_ / "steps.aplomb";
  }
  ~RecorderTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Recorder> open(const RecorderOptions& options = {}) {
    return Recorder::open(path_.string(), options, error_);
  }

  fs::path folder_;
  fs::path path_;
  std::string error_;
};

RecordHead head_of(const std::string& bytes) {
  RecordHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

RecordSlot slot_of(const std::string& bytes, std::uint32_t index) {
  RecordSlot slot{};
  const RecordHead head = head_of(bytes);
  const std::size_t at = k_head_bytes + head.text_bytes + std::size_t{index} * sizeof slot;
  std::memcpy(&slot, bytes.data() + at, sizeof slot);
  return slot;
}

TEST_F(RecorderTest, WritesWhatItWasGiven) {
  auto recorder = open({.slots = 8, .text_bytes = 4096, .rank = 3});
  ASSERT_TRUE(recorder) << error_;
  const RecordedValue values[] = {{recorder->name("loss"), 2.5},
                                  {recorder->name("grad_norm"), std::nan("")}};
  EXPECT_EQ(recorder->name("loss"), values[0].name);
  recorder->record({.step = 41,
                    .time_s = 1.5,
                    .values = values,
                    .action = 2,
                    .policy = "nonfinite",
                    .reason = "loss is nan"});
  const std::string bytes = test::content(path_);
  const RecordHead head = head_of(bytes);
  EXPECT_EQ(fault_in(head), "");
  EXPECT_EQ(head.rank, 3);
  EXPECT_EQ(bytes.size(), file_bytes(head));
  const RecordSlot slot = slot_of(bytes, 0);
  EXPECT_EQ(state_of(slot, 0, 8), SlotState::good);
  EXPECT_EQ(state_of(slot_of(bytes, 1), 1, 8), SlotState::empty);
  EXPECT_EQ(slot.step, 41);
  EXPECT_EQ(slot.value_count, 2);
  EXPECT_EQ(slot.value[0], 2.5);
  EXPECT_TRUE(std::isnan(slot.value[1]));
  const std::string_view table = std::string_view(bytes).substr(k_head_bytes, 4096);
  EXPECT_EQ(text_at(table, (std::size_t{slot.reason} - 1) * k_text_align)->text, "loss is nan");
  EXPECT_EQ(text_at(table, (std::size_t{slot.policy} - 1) * k_text_align)->text, "nonfinite");
}

TEST_F(RecorderTest, MoreValuesThanASlotHoldsGoOnInTheNext) {
  auto recorder = open({.slots = 8});
  std::vector<RecordedValue> values;
  for (int i = 0; i < 19; ++i)
    values.push_back({recorder->name("metric" + std::to_string(i)), static_cast<double>(i)});
  recorder->record({.step = 1, .values = values, .action = 2, .reason = "once"});
  EXPECT_EQ(recorder->count(), 3U);
  const std::string bytes = test::content(path_);
  EXPECT_EQ(slot_of(bytes, 2).value[2], 18);
  EXPECT_EQ(slot_of(bytes, 1).action, 0) << "one verdict a step";
}

TEST_F(RecorderTest, KeepsTheLastRecordsAndGoesOnWhereItEnded) {
  for (int part = 0; part < 3; ++part) {
    auto recorder = open({.slots = 8});
    ASSERT_TRUE(recorder) << error_;
    EXPECT_EQ(recorder->count(), static_cast<std::uint64_t>(part) * 5);
    const RecordedValue value{recorder->name("loss"), 1.0 * part};
    for (int i = 0; i < 5; ++i) recorder->record({.step = part * 5 + i, .values = {&value, 1}});
  }
  const std::string bytes = test::content(path_);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const RecordSlot slot = slot_of(bytes, i);
    ASSERT_EQ(state_of(slot, i, 8), SlotState::good);
    EXPECT_GE(slot.sequence, 8U);
    EXPECT_EQ(slot.step, static_cast<std::int64_t>(slot.sequence) - 1);
    EXPECT_EQ(slot.name[0], 0) << "the name was not entered again";
  }
}

TEST_F(RecorderTest, AFullTextTableCostsReasonsNotRecords) {
  auto recorder = open({.slots = 64, .text_bytes = 4096});
  const std::string reason(200, 'r');
  for (int i = 0; i < 60; ++i) recorder->record({.step = i, .action = 2, .reason = reason});
  EXPECT_EQ(recorder->count(), 60U);
  const std::string bytes = test::content(path_);
  EXPECT_EQ(slot_of(bytes, 59).reason, 0U);
  EXPECT_EQ(state_of(slot_of(bytes, 59), 59, 64), SlotState::good);
  for (int i = 0; i < 40; ++i) recorder->name("fills the rest " + std::to_string(i));
  EXPECT_EQ(recorder->name("late"), Recorder::k_no_name);
  const RecordedValue value{Recorder::k_no_name, 1.0};
  recorder->record({.step = 60, .values = {&value, 1}});
  EXPECT_EQ(slot_of(test::content(path_), 60).value_count, 0);
}

TEST_F(RecorderTest, AFileOfAnotherKindIsLeftAsItIs) {
  std::ofstream(path_) << "the user's own notes, longer than a head would be, much longer";
  const std::string before = test::content(path_);
  EXPECT_FALSE(open());
  EXPECT_NE(error_.find("no step record"), std::string::npos) << error_;
  EXPECT_EQ(test::content(path_), before);
}

TEST_F(RecorderTest, AFileWhoseCreationWasInterruptedIsCompleted) {
  open({.slots = 8});
  for (const std::size_t size : {std::size_t{32}, std::size_t{5000}}) {
    fs::resize_file(path_, size);
    const auto recorder = open();
    ASSERT_TRUE(recorder) << error_;
    recorder->record({.step = 1});
    EXPECT_EQ(state_of(slot_of(test::content(path_), 0), 0, 8), SlotState::good);
  }
}

TEST_F(RecorderTest, TwoProcessesDoNotShareAFile) {
  const auto first = open();
  EXPECT_FALSE(open());
  EXPECT_NE(error_.find("another process"), std::string::npos) << error_;
}

TEST_F(RecorderTest, APlaceThatCannotBeWrittenIsSaid) {
  path_ = folder_ / "missing" / "steps.aplomb";
  EXPECT_FALSE(open());
  EXPECT_NE(error_.find("No such file"), std::string::npos) << error_;
  path_ = "/proc/self/steps.aplomb";
  EXPECT_FALSE(open());
  EXPECT_NE(error_.find("cannot be opened for writing"), std::string::npos) << error_;
  path_ = folder_;
  EXPECT_FALSE(open());
  EXPECT_FALSE(error_.empty());
}

/// A limit on the size of files stands for a full disk: both fail where the blocks are taken.
TEST_F(RecorderTest, ADiskWithoutRoomIsSaidWhenTheFileIsOpened) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{65536, 65536};
    setrlimit(RLIMIT_FSIZE, &small);
    std::string error;
    const auto recorder = Recorder::open(path_.string(), {}, error);
    _exit(!recorder && error.find("cannot take") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs::file_size(path_), 0U);
  EXPECT_TRUE(open()) << "and there is room again: " << error_;
}

/// What record n holds in the test below.
double value_of(std::uint64_t sequence, int which) {
  return static_cast<double>(sequence * 1000003U % 999983U) + which;
}

[[noreturn]] void write_for_ever(Recorder& recorder, std::atomic<std::uint64_t>& done) {
  RecordedValue values[8];
  for (int i = 0; i < 8; ++i)
    values[i].name = recorder.name(std::string(1, static_cast<char>('a' + i)));
  for (std::uint64_t n = recorder.count() + 1;; ++n) {
    for (int i = 0; i < 8; ++i) values[i].value = value_of(n, i);
    recorder.record({.step = static_cast<std::int64_t>(n), .values = values});
    done.store(n, std::memory_order_release);
  }
}

/// Checks every slot; gives the highest sequence number.
std::uint64_t check_records(const std::string& bytes, std::uint32_t slots, std::uint64_t done) {
  std::uint64_t highest = 0;
  std::uint32_t good = 0;
  for (std::uint32_t i = 0; i < slots; ++i) {
    const RecordSlot slot = slot_of(bytes, i);
    const SlotState state = state_of(slot, i, slots);
    EXPECT_NE(state, SlotState::damaged) << i;
    if (state != SlotState::good) continue;
    ++good;
    highest = std::max(highest, slot.sequence);
    EXPECT_EQ(slot.step, static_cast<std::int64_t>(slot.sequence));
    for (int k = 0; k < 8; ++k) EXPECT_EQ(slot.value[k], value_of(slot.sequence, k));
  }
  EXPECT_GE(highest, done) << "a record that had been written is lost";
  EXPECT_LE(highest, done + 1);
  // All of the last `slots` are there but the one whose place was being written.
  const std::uint64_t expected = std::min<std::uint64_t>(highest, slots);
  EXPECT_GE(good + 1U, expected);
  return highest;
}

TEST_F(RecorderTest, AKilledWriterLosesAtMostTheRecordInFlight) {
  // 1000 rounds with APLOMB_SLOW_TESTS=1 in the environment.
  const int rounds = std::getenv("APLOMB_SLOW_TESTS") != nullptr ? 1000 : 100;
  constexpr std::uint32_t k_slots = 64;  // a small ring: most kills hit a slot that is written over
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* done = new (shared) std::atomic<std::uint64_t>(0);
  std::mt19937 engine(11);
  std::uniform_int_distribution<int> delay_us(0, 1500);
  std::uint64_t before = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      std::string error;
      const auto recorder = Recorder::open(path_.string(), {.slots = k_slots}, error);
      if (recorder) write_for_ever(*recorder, *done);
      _exit(1);
    }
    // Once it writes, at any moment.
    while (done->load() == before && waitpid(child, nullptr, WNOHANG) == 0) usleep(20);
    usleep(static_cast<useconds_t>(delay_us(engine)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    ASSERT_GT(done->load(), before);
    before = check_records(test::content(path_), k_slots, done->load());
    done->store(before);
    if (HasFailure()) ADD_FAILURE() << "round " << round;
  }
  munmap(shared, 4096);
}

TEST(RecordFile, EveryFlippedBitOfARecordIsSeen) {
  RecordSlot slot{};
  slot.sequence = 5;
  slot.value_count = 3;
  slot.step = 17;
  slot.value[1] = 0.25;
  slot.checksum = checksum_of(slot);
  ASSERT_EQ(state_of(slot, 4, 8), SlotState::good);
  for (std::size_t bit = 0; bit < sizeof slot * 8; ++bit) {
    RecordSlot damaged = slot;
    reinterpret_cast<unsigned char*>(&damaged)[bit / 8] ^=
        static_cast<unsigned char>(1U << (bit % 8));
    EXPECT_NE(state_of(damaged, 4, 8), SlotState::good) << bit;
  }
  slot.sequence = 13;  // the same body as another record of the same slot
  EXPECT_EQ(state_of(slot, 4, 8), SlotState::damaged);
}

}  // namespace
}  // namespace aplomb::recorder

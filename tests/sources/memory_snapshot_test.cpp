#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::chosen_reader;
using test::read_with;

// Pickles of protocol 2, opcode by opcode.
std::string text(std::string_view value) {
  std::string out = "X";
  const auto size = static_cast<std::uint32_t>(value.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return out + std::string(value);
}

std::string number(std::int64_t value) {
  std::string out = "\x8a\x08";
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return out;
}

std::string dict(const std::vector<std::pair<const char*, std::string>>& entries) {
  std::string out = "}";
  for (const auto& [key, value] : entries) out += text(key) + value + "s";
  return out;
}

std::string list(const std::vector<std::string>& items) {
  std::string out = "]";
  for (const std::string& item : items) out += item + "a";
  return out;
}

std::string frame(std::string_view name, std::string_view file, std::int64_t line) {
  return dict({{"name", text(name)}, {"filename", text(file)}, {"line", number(line)}});
}

constexpr std::int64_t k_mib = 1 << 20;

std::string step(std::string_view action, std::int64_t address, std::int64_t mib,
                 const std::vector<std::string>& frames = {}) {
  return dict({{"action", text(action)},
               {"addr", number(address)},
               {"size", number(mib * k_mib)},
               {"device_free", number(3 * k_mib)},
               {"frames", list(frames)}});
}

/// 100 MiB held, 40 of them in tensors at the end.
std::string snapshot(const std::vector<std::string>& trace) {
  const std::string block = dict({{"state", text("inactive")}, {"size", number(25 * k_mib)}});
  const std::string segment = dict({{"device", number(0)},
                                    {"total_size", number(100 * k_mib)},
                                    {"allocated_size", number(40 * k_mib)},
                                    {"blocks", list({block})}});
  return "\x80\x02" +
         dict({{"segments", list({segment})}, {"device_traces", list({list(trace)})}}) + ".";
}

const std::string k_model = frame("forward", "/home/me/model.py", 101);
const std::string k_engine = frame("torch::autograd::Engine::evaluate_function()", "??", 0);
const std::string k_optimizer = frame("_init_group", "/lib/torch/optim/adamw.py", 9);

double value(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Fact& fact : run.facts) {
    if (fact.name == name) return *core::as_number(fact.value);
  }
  return -1;
}

const record::Event* event(const aplomb::record::Run& run, std::string_view kind) {
  for (const record::Event& each : run.events) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

/// 20 MiB are there before; a forward of 50, a gradient of 30 on top, then the forward is freed;
/// 10 that the trace never saw come back.
const std::vector<std::string> k_trace = {
    step("alloc", 1, 50, {k_model}), step("alloc", 2, 30, {k_engine, k_model}),
    step("free_requested", 1, 50), step("free_completed", 1, 50), step("free_completed", 77, 10)};

TEST(MemorySnapshot, IsKnownByItsKeys) {
  EXPECT_EQ(chosen_reader("oom.pickle", snapshot({})), "memory-snapshot");
  EXPECT_NE(chosen_reader("other.pickle", "\x80\x02" + dict({{"state", number(1)}}) + "."),
            "memory-snapshot");
  EXPECT_NE(chosen_reader("log.txt", "segments total_size allocated_size"), "memory-snapshot");
}

TEST(MemorySnapshot, ThePeakIsReplayedFromWhatIsHeldAtTheEnd) {
  const aplomb::record::Run run = read_with("memory-snapshot", snapshot(k_trace));
  EXPECT_DOUBLE_EQ(value(run, "snapshot.reserved_bytes"), 100.0 * k_mib);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.slack_share"), 0.6);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.largest_gap_bytes"), 25.0 * k_mib);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.peak_bytes"), 100.0 * k_mib) << "20 + 50 + 30";
  EXPECT_DOUBLE_EQ(value(run, "snapshot.forward_share"), 0.5);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.gradient_share"), 0.3);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.optimizer_share"), 0);
  const record::Event* told = event(run, "memory-snapshot");
  ASSERT_NE(told, nullptr);
  EXPECT_NE(told->text.find("largest tensor 50 MiB, most at model.py:101 forward (80 MiB)"),
            std::string::npos)
      << told->text;
  EXPECT_EQ(event(run, "cuda-oom"), nullptr);
}

TEST(MemorySnapshot, TheInnermostFrameTellsTheUse) {
  const aplomb::record::Run run =
      read_with("memory-snapshot", snapshot({step("alloc", 1, 60, {k_optimizer, k_model})}));
  EXPECT_DOUBLE_EQ(value(run, "snapshot.optimizer_share"), 1);
  EXPECT_DOUBLE_EQ(value(run, "snapshot.forward_share"), 0);
}

TEST(MemorySnapshot, AnOutOfMemoryIsAFailureWithItsNumbers) {
  const aplomb::record::Run run =
      read_with("memory-snapshot", snapshot({step("alloc", 1, 10), step("oom", 0, 64)}));
  const record::Event* failed = event(run, "cuda-oom");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->severity, core::Severity::failed);
  EXPECT_DOUBLE_EQ(*core::as_number(failed->caught.at("requested")), 64.0 * k_mib);
  EXPECT_DOUBLE_EQ(*core::as_number(failed->caught.at("free")), 3.0 * k_mib);
  EXPECT_DOUBLE_EQ(*core::as_number(failed->caught.at("reserved")), 100.0 * k_mib);
}

TEST(MemorySnapshot, WithoutStacksNoUseIsTold) {
  const aplomb::record::Run run = read_with("memory-snapshot", snapshot({step("alloc", 1, 10)}));
  EXPECT_GT(value(run, "snapshot.peak_bytes"), 0);
  EXPECT_EQ(value(run, "snapshot.forward_share"), -1);
}

TEST(MemorySnapshot, ATornTailIsADefectAndWhatStandsBeforeItIsTold) {
  const std::string whole = snapshot(k_trace);
  const aplomb::record::Run run =
      read_with("memory-snapshot", std::string_view(whole).substr(0, whole.size() - 40));
  EXPECT_FALSE(run.defects.empty());
}

}  // namespace
}  // namespace aplomb::sources

/// recorder_bench: nanoseconds a record of 8 values, beside the copy and checksum of its 128 bytes
/// (the limit) and a formatted JSON line with a flush (what a careful script does).
///
///     build/bench/bench/recorder_bench [FOLDER]

#include <aplomb/recorder.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "core/crc32c.h"

namespace {

using namespace aplomb;

/// Processor time of this thread: the machine may be busy.
double now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
double ns_since(double begin) { return now_ns() - begin; }

void print(const char* what, std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  fmt::print("{:<36} best {:7.1f}  median {:7.1f} ns\n", what, ns.front(), ns[ns.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int k_records = 20000;
  constexpr int k_rounds = 200;
  const std::string path =
      fmt::format("{}/recorder_bench.{}", argc > 1 ? argv[1] : "/tmp", getpid());
  std::string error;
  const auto recorder = Recorder::open(path, {}, error);
  std::FILE* json = std::fopen((path + ".jsonl").c_str(), "w");
  if (!recorder || json == nullptr) {
    fmt::print(stderr, "{}\n", error);
    return 1;
  }
  RecordedValue values[8];
  for (int i = 0; i < 8; ++i) values[i].name = recorder->name(fmt::format("metric{}", i));
  std::vector<double> records;
  std::vector<double> limit;
  std::vector<double> lines;
  std::vector<char> ring(65536 * 128);
  std::uint32_t sink = 0;
  for (int round = 0; round < k_rounds; ++round) {
    auto begin = now_ns();
    for (int n = 0; n < k_records; ++n) {
      for (auto& each : values) each.value = n;
      recorder->record({.step = n, .values = values});
    }
    records.push_back(ns_since(begin) / k_records);
    char slot[128] = {};
    begin = now_ns();
    for (int n = 0; n < k_records; ++n) {
      std::memcpy(slot + 16, &n, sizeof n);
      sink ^= core::crc32c({slot, sizeof slot});
      std::memcpy(ring.data() + static_cast<std::size_t>(n % 65536) * 128, slot, sizeof slot);
    }
    limit.push_back(ns_since(begin) / k_records);
    begin = now_ns();
    for (int n = 0; n < k_records / 20; ++n) {
      fmt::print(json,
                 R"({{"step":{},"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{}}})"
                 "\n",
                 n, 1.0 * n, 2.0 * n, 3.0 * n, 4.0 * n, 5.0 * n, 6.0 * n, 7.0 * n, 8.0 * n);
      std::fflush(json);
    }
    lines.push_back(ns_since(begin) / (k_records / 20.0));
  }
  print("record of 8 values", records);
  print("limit: copy and checksum of 128 B", limit);
  print("JSON line and flush (C++)", lines);
  std::fclose(json);
  std::remove(path.c_str());
  std::remove((path + ".jsonl").c_str());
  return sink == 1 ? 2 : 0;
}

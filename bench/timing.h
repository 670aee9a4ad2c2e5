#pragma once
/// What the memory-bound benchmarks share: clocks, percentiles, and the read-only pass that is
/// their limit.

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace aplomb::bench {

/// Of one piece of work: by the clock, and of this process's threads together, which other programs
/// on the machine do not lengthen by taking the processor away.
struct Time {
  double wall_s = 0;
  double cpu_s = 0;
  Time& operator+=(const Time& other) {
    wall_s += other.wall_s;
    cpu_s += other.cpu_s;
    return *this;
  }
};

inline double cpu_now() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline Time time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          cpu_now() - cpu};
}

inline double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

inline volatile std::uint64_t g_sink = 0;

inline void read_part(const std::uint64_t* words, std::size_t count) {
  std::uint64_t folded[32] = {};
  for (std::size_t i = 0; i + 32 <= count; i += 32) {
    for (std::size_t lane = 0; lane < 32; ++lane) folded[lane] |= words[i + lane];
  }
  for (const std::uint64_t each : folded) g_sink = g_sink | each;
}

/// OR of every word, in equal parts on `threads` threads.
inline void read_all(std::span<const unsigned char> bytes, int threads) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  const std::size_t each = bytes.size() / 8 / static_cast<std::size_t>(threads);
  std::vector<std::jthread> pool;
  for (int i = 1; i < threads; ++i)
    pool.emplace_back([=] { read_part(words + each * static_cast<std::size_t>(i), each); });
  read_part(words, each);
}

}  // namespace aplomb::bench

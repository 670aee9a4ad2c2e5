// The scan of 100 x 1,000,448 fp32 beside what the machine can do, in one process, round by round:
//
//   read      OR of every word: the read-only limit          copy    memcpy of half of the bytes
//   onto the other half scan      every statistic                                 reference   the
//   same in plain C++
//
// usage: scan_bench [--rounds N] [--threads N] [--type f32|bf16|f16]
// Prints medians over rounds, and the median with the 10th and 90th percentile of the per-round
// ratio to `read`. The results are compared with the reference before anything is timed.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "scan/scan.h"

namespace {

using aplomb::ScalarType;
using aplomb::TensorStats;
using aplomb::TensorView;

constexpr std::size_t k_tensors = 100;
constexpr std::size_t k_elements = 1000448;

struct Options {
  int rounds = 60;
  int threads = 1;
  ScalarType type = ScalarType::f32;
};

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

volatile std::uint64_t g_sink = 0;

void read_part(const std::uint64_t* words, std::size_t count) {
  std::uint64_t folded[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) folded[lane] |= words[i + lane];
  }
  for (const std::uint64_t each : folded) g_sink = g_sink | each;
}

void read_all(const std::vector<unsigned char>& bytes, int threads) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data());
  const std::size_t each = bytes.size() / 8 / static_cast<std::size_t>(threads);
  std::vector<std::jthread> pool;
  for (int i = 1; i < threads; ++i)
    pool.emplace_back([=] { read_part(words + each * static_cast<std::size_t>(i), each); });
  read_part(words, each);
}

std::vector<unsigned char> make_gradients(ScalarType type) {
  std::vector<unsigned char> bytes(k_tensors * k_elements * aplomb::size_of(type));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1e-3F);
  const auto format = *aplomb::format_of(type);
  const std::size_t size = aplomb::size_of(type);
  std::vector<std::uint64_t> some(65536);
  for (auto& each : some) each = aplomb::encode(format, static_cast<double>(normal(random)));
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    std::memcpy(bytes.data() + i * size, &some[(i * 40503U + (i >> 16U)) & 65535U], size);
  }
  return bytes;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string key = arguments[i];
    if (key == "--rounds") options.rounds = std::stoi(arguments[i + 1]);
    if (key == "--threads") options.threads = std::stoi(arguments[i + 1]);
    if (key == "--type") {
      const std::string value = arguments[i + 1];
      options.type = value == "bf16"  ? ScalarType::bf16
                     : value == "f16" ? ScalarType::f16
                                      : ScalarType::f32;
    }
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const std::vector<unsigned char> bytes = make_gradients(options.type);
  const std::size_t size = aplomb::size_of(options.type);
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < k_tensors; ++i)
    views.push_back({bytes.data() + i * k_elements * size, k_elements, options.type});
  std::vector<TensorStats> stats(views.size());
  aplomb::scan_many(views, stats, options.threads);
  const TensorStats reference = aplomb::scan_reference(views[7]);
  if (stats[7].exponents != reference.exponents ||
      std::fabs(stats[7].sum_squares - reference.sum_squares) > 1e-12 * reference.sum_squares) {
    fmt::print("the scan is wrong: nothing is timed\n");
    return 1;
  }
  std::vector<double> read_s;
  std::vector<double> scan_s;
  std::vector<double> ratio;
  for (int round = 0; round < options.rounds; ++round) {
    read_s.push_back(seconds([&] { read_all(bytes, options.threads); }));
    scan_s.push_back(seconds([&] { aplomb::scan_many(views, stats, options.threads); }));
    ratio.push_back(scan_s.back() / read_s.back());
  }
  const double gigabytes = static_cast<double>(bytes.size()) * 1e-9;
  fmt::print("{} tensors of {} {}, {} thread(s), target {}\n", k_tensors, k_elements,
             aplomb::name(options.type), options.threads, aplomb::scan_target());
  fmt::print("read  {:7.2f} ms  {:6.1f} GB/s\n", percentile(read_s, 0.5) * 1e3,
             gigabytes / percentile(read_s, 0.5));
  fmt::print("scan  {:7.2f} ms  {:6.1f} GB/s  ratio to read {:.3f} (p10 {:.3f}, p90 {:.3f})\n",
             percentile(scan_s, 0.5) * 1e3, gigabytes / percentile(scan_s, 0.5),
             percentile(ratio, 0.5), percentile(ratio, 0.1), percentile(ratio, 0.9));
  return 0;
}

// The scan of 100 x 1,000,448 fp32 beside what the machine can do, in one process:
//
//   read    OR of every word: the read-only limit of this machine at this moment
//   scan    every statistic, through scan_many
//
// usage: scan_bench [--rounds N] [--threads N] [--type f32|bf16|f16] [--data
// normal|sparse|wide|nan]
//
// A round visits ten groups of ten tensors; each group is read and another one, half of the data
// away, is scanned, so that both meet the same neighbours on a shared machine and neither finds its
// data in a cache. Prints medians over rounds, and the median with the 10th and 90th percentile of
// the per-round ratio to `read`. The results are compared with the reference before anything is
// timed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "scan/scan.h"
#include "timing.h"

namespace {

using aplomb::bench::percentile;
using aplomb::bench::read_all;
using aplomb::bench::Time;
using aplomb::bench::time_of;
using aplomb::scan::ScalarType;
using aplomb::scan::TensorStats;
using aplomb::scan::TensorView;

constexpr std::size_t k_tensors = 100;
constexpr std::size_t k_elements = 1000448;
constexpr std::size_t k_groups = 10;

struct Options {
  int rounds = 60;
  int threads = 1;
  aplomb::scan::ScalarType type = aplomb::scan::ScalarType::f32;
  std::string data = "normal";
};

/// Gradients as they occur: normal; half of them zero; spread over 50 binades; one NaN in 100,000.
double gradient(const std::string& kind, std::mt19937& random, float normal) {
  const double value = static_cast<double>(normal) * 1e-3;
  if (kind == "sparse") return random() % 2 == 0 ? 0.0 : value;
  if (kind == "wide") return value * std::exp2(static_cast<double>(random() % 50) - 40);
  if (kind == "nan") return random() % 65536 == 0 ? std::nan("") : value;
  return value;
}

std::vector<unsigned char> make_gradients(const Options& options) {
  std::vector<unsigned char> bytes(k_tensors * k_elements * aplomb::scan::size_of(options.type));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto format = *aplomb::scan::format_of(options.type);
  const std::size_t size = aplomb::scan::size_of(options.type);
  std::vector<std::uint64_t> some(65536);
  for (auto& each : some)
    each = aplomb::numerics::encode(format, gradient(options.data, random, normal(random)));
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
    if (key == "--data") options.data = arguments[i + 1];
    if (key == "--type") {
      const std::string value = arguments[i + 1];
      options.type = value == "bf16"  ? aplomb::scan::ScalarType::bf16
                     : value == "f16" ? aplomb::scan::ScalarType::f16
                                      : aplomb::scan::ScalarType::f32;
    }
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const std::vector<unsigned char> bytes = make_gradients(options);
  const std::size_t size = aplomb::scan::size_of(options.type);
  std::vector<aplomb::scan::TensorView> views;
  for (std::size_t i = 0; i < k_tensors; ++i)
    views.push_back({bytes.data() + i * k_elements * size, k_elements, options.type});
  std::vector<aplomb::scan::TensorStats> stats(views.size());
  aplomb::scan::scan_many(views, stats, options.threads);
  const aplomb::scan::TensorStats reference = aplomb::scan::scan_reference(views[7]);
  if (stats[7].exponents != reference.exponents || stats[7].nan != reference.nan ||
      std::fabs(stats[7].sum_squares - reference.sum_squares) > 1e-12 * reference.sum_squares) {
    fmt::print("the scan is wrong: nothing is timed\n");
    return 1;
  }
  constexpr std::size_t k_group = k_tensors / k_groups;
  const std::size_t group_bytes = k_group * k_elements * size;
  std::vector<double> read_s, scan_s, ratio, cpu_ratio;
  for (int round = 0; round < options.rounds; ++round) {
    Time read;
    Time scan;
    for (std::size_t group = 0; group < k_groups; ++group) {
      const std::size_t other = (group + k_groups / 2) % k_groups;
      read += time_of([&] {
        read_all(std::span(bytes).subspan(group * group_bytes, group_bytes), options.threads);
      });
      scan += time_of([&] {
        aplomb::scan::scan_many(std::span(views).subspan(other * k_group, k_group),
                                std::span(stats).subspan(other * k_group, k_group),
                                options.threads);
      });
    }
    read_s.push_back(read.wall_s);
    scan_s.push_back(scan.wall_s);
    ratio.push_back(scan.wall_s / read.wall_s);
    cpu_ratio.push_back(scan.cpu_s / read.cpu_s);
  }
  const double gigabytes = static_cast<double>(bytes.size()) * 1e-9;
  fmt::print("{} tensors of {} {} ({}), {} thread(s), target {}\n", k_tensors, k_elements,
             aplomb::scan::name(options.type), options.data, options.threads,
             aplomb::scan::scan_target());
  fmt::print("read  {:7.2f} ms (least {:.2f})  {:6.1f} GB/s\n", percentile(read_s, 0.5) * 1e3,
             percentile(read_s, 0) * 1e3, gigabytes / percentile(read_s, 0.5));
  fmt::print("scan  {:7.2f} ms (least {:.2f})  {:6.1f} GB/s\n", percentile(scan_s, 0.5) * 1e3,
             percentile(scan_s, 0) * 1e3, gigabytes / percentile(scan_s, 0.5));
  for (const auto& [what, values] : {std::pair{"wall", ratio}, std::pair{"processor", cpu_ratio}}) {
    fmt::print("scan / read, {} time: {:.3f} (p10 {:.3f}, p90 {:.3f})\n", what,
               percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9));
  }
  return 0;
}

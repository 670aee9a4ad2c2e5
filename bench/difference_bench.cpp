// The difference of two lots of 50 x 1,000,448 elements beside the read-only limit, in one process:
//
//   read          OR of every word of both: two streams
//   difference    changed, ULPs, max |a - b|, norms, non-finite: everything `aplomb ckpt diff`
//   needs
//
// usage: difference_bench [--rounds N] [--type f32|bf16|f16] [--moved PERCENT]
//
// One thread. A round visits ten groups of five tensors; a group is read while another, half of the
// data away, is compared. The result is compared with the reference before anything is timed.

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "scan/difference.h"
#include "timing.h"

namespace {

using aplomb::bench::percentile;
using aplomb::bench::read_all;
using aplomb::bench::Time;
using aplomb::bench::time_of;
using aplomb::scan::Difference;
using aplomb::scan::ScalarType;

constexpr std::size_t k_tensors = 50;
constexpr std::size_t k_elements = 1000448;
constexpr std::size_t k_groups = 10;

struct Options {
  int rounds = 40;
  aplomb::scan::ScalarType type = aplomb::scan::ScalarType::f32;
  unsigned moved_percent = 6;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string key = arguments[i];
    const std::string value = arguments[i + 1];
    if (key == "--rounds") options.rounds = std::stoi(value);
    if (key == "--moved") options.moved_percent = static_cast<unsigned>(std::stoul(value));
    if (key == "--type") {
      options.type = value == "bf16"  ? aplomb::scan::ScalarType::bf16
                     : value == "f16" ? aplomb::scan::ScalarType::f16
                                      : aplomb::scan::ScalarType::f32;
    }
  }
  return options;
}

/// Weights, and the same with some of them moved by 1 to 7 ULPs.
struct Pair {
  std::vector<unsigned char> before, after;
};
Pair make(const Options& options) {
  const std::size_t size = aplomb::scan::size_of(options.type);
  Pair pair{std::vector<unsigned char>(k_tensors * k_elements * size), {}};
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 0.02);
  std::vector<std::uint64_t> some(65536);
  for (auto& each : some)
    each = aplomb::numerics::encode(*aplomb::scan::format_of(options.type), normal(random));
  const std::size_t count = k_tensors * k_elements;
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(pair.before.data() + i * size, &some[(i * 40503U + (i >> 16U)) & 65535U], size);
  pair.after = pair.before;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 100 < options.moved_percent)
      pair.after[i * size] = static_cast<unsigned char>(pair.after[i * size] ^ (1 + random() % 7));
  }
  return pair;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const Pair pair = make(options);
  const std::size_t bytes = k_elements * aplomb::scan::size_of(options.type);
  const auto compare = [&](std::size_t tensor, auto how) {
    return how({pair.before.data() + tensor * bytes, k_elements, options.type},
               {pair.after.data() + tensor * bytes, k_elements, options.type});
  };
  const aplomb::scan::Difference fast = compare(3, aplomb::scan::difference);
  const aplomb::scan::Difference plain = compare(3, aplomb::scan::difference_reference);
  if (fast.changed != plain.changed || fast.max_ulps != plain.max_ulps ||
      std::fabs(fast.sum_squares - plain.sum_squares) > 1e-12 * plain.sum_squares) {
    fmt::print("the difference is wrong: nothing is timed\n");
    return 1;
  }
  constexpr std::size_t k_group = k_tensors / k_groups;
  std::vector<double> read_s, diff_s, diff_cpu_s, ratio, cpu_ratio;
  double changed = 0;
  for (int round = 0; round < options.rounds; ++round) {
    Time read, diff;
    for (std::size_t group = 0; group < k_groups; ++group) {
      const std::size_t other = (group + k_groups / 2) % k_groups;
      read += time_of([&] {
        for (std::size_t i = group * k_group; i < (group + 1) * k_group; ++i) {
          read_all(std::span(pair.before).subspan(i * bytes, bytes), 1);
          read_all(std::span(pair.after).subspan(i * bytes, bytes), 1);
        }
      });
      diff += time_of([&] {
        for (std::size_t i = other * k_group; i < (other + 1) * k_group; ++i)
          changed += static_cast<double>(compare(i, aplomb::scan::difference).changed);
      });
    }
    read_s.push_back(read.wall_s);
    diff_s.push_back(diff.wall_s);
    diff_cpu_s.push_back(diff.cpu_s);
    ratio.push_back(read.wall_s / diff.wall_s);
    cpu_ratio.push_back(read.cpu_s / diff.cpu_s);
  }
  const double gigabytes = 2 * static_cast<double>(pair.before.size()) * 1e-9;
  fmt::print("two of {} x {} {}, {:.1f} % moved, 1 thread\n", k_tensors, k_elements,
             aplomb::scan::name(options.type),
             100 * changed / options.rounds / (k_tensors * k_elements));
  fmt::print("read       {:7.2f} ms (least {:.2f})  {:6.1f} GB/s\n", percentile(read_s, 0.5) * 1e3,
             percentile(read_s, 0) * 1e3, gigabytes / percentile(read_s, 0.5));
  fmt::print("difference {:7.2f} ms (least {:.2f})  {:6.1f} GB/s, cpu {:7.2f} ms\n",
             percentile(diff_s, 0.5) * 1e3, percentile(diff_s, 0) * 1e3,
             gigabytes / percentile(diff_s, 0.5), percentile(diff_cpu_s, 0.5) * 1e3);
  for (const auto& [what, values] : {std::pair{"wall", ratio}, std::pair{"processor", cpu_ratio}}) {
    fmt::print("share of the read, {} time: {:.3f} (p10 {:.3f}, p90 {:.3f})\n", what,
               percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9));
  }
  return 0;
}

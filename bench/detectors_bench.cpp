/// Cost and quality of the streaming detectors, on curves drawn from seeds.
///
///   detectors_bench [--steps N] [--dump DIR]
///
/// Prints: the in-run limit (a chain of dependent multiply-adds), ns per update of each building
/// block, microseconds per step of the whole bank on one run of 64 series, and for each kind of
/// curve the delay of the first alarm and the share of draws with one. `--dump DIR` writes the same
/// curves (float64, one file a draw) for bench/peers/detectors_river.py.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/block_summary.h"
#include "core/robust_trend.h"
#include "core/robust_window.h"
#include "core/tail.h"
#include "detection/bank.h"
#include "detectors/detector.h"
#include "detectors/spike_finder.h"

namespace {

using namespace aplomb;
/// Processor time of this thread: other work on the machine does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Keeps a value alive: the compiler may not drop what made it.
void keep(double value) { asm volatile("" : : "g"(value) : "memory"); }

struct Source {
  std::mt19937_64 engine;
  std::normal_distribution<double> normal;
  explicit Source(std::uint64_t seed) : engine(seed) {}
  double gauss() { return normal(engine); }
  double student3() {
    const double a = gauss();
    const double b = gauss();
    const double c = gauss();
    return gauss() / std::sqrt((a * a + b * b + c * c) / 3);
  }
};

struct Kind {
  const char* name;
  std::int64_t onset;  ///< step of the fault; -1 for a healthy curve
  std::function<double(double, Source&)> at;
};

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_sigma = 0.06;  // 3 % of the level 2.0

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"stable", -1, [](double, Source& s) { return 2 + k_sigma * s.gauss(); }},
      {"power-law", -1,
       [](double i, Source& s) {
         return 2 + 8 * std::pow(1 + i / 30, -0.6) + k_sigma * s.gauss();
       }},
      {"student-t3", -1, [](double, Source& s) { return 2 + k_sigma * s.student3(); }},
      {"level-shift", -1,
       [](double i, Source& s) { return (i < 1500 ? 2.0 : 2.6) + k_sigma * s.gauss(); }},
      {"variance-change", -1,
       [](double i, Source& s) { return 2 + (i < 1500 ? 1 : 4) * k_sigma * s.gauss(); }},
      {"spike-2x", 1000,
       [](double i, Source& s) { return i == 1000 ? 4.0 : 2 + k_sigma * s.gauss(); }},
      {"spike-4x", 1000,
       [](double i, Source& s) { return i == 1000 ? 8.0 : 2 + k_sigma * s.gauss(); }},
      {"spike-at-30", 30,
       [](double i, Source& s) { return i == 30 ? 8.0 : 2 + k_sigma * s.gauss(); }},
      {"second-spike", 1040,
       [](double i, Source& s) {
         return i == 1000 ? 10.0 : i == 1040 ? 5.0 : 2 + k_sigma * s.gauss();
       }},
      {"spike-after-nan", 1060,
       [](double i, Source& s) {
         return i == 1000 ? k_nan : i == 1060 ? 6.0 : 2 + k_sigma * s.gauss();
       }},
      {"ramp-2-10", 1500,
       [](double i, Source& s) {
         return 2 + std::max(0.0, i - 1500) * 8 / 1500 + k_sigma * s.gauss();
       }},
      {"climb-2-3.5", 1500,
       [](double i, Source& s) {
         return 2 + std::max(0.0, i - 1500) * 1.5 / 1500 + k_sigma * s.gauss();
       }},
  };
  return all;
}

std::vector<double> draw(const Kind& kind, std::uint64_t seed, std::size_t steps) {
  Source source(seed * 7919 + 17);
  std::vector<double> values;
  for (std::size_t i = 0; i < steps; ++i) values.push_back(kind.at(static_cast<double>(i), source));
  return values;
}

/// First step at which an alarm above `note` stands (NaN itself left aside), and whether one stands
/// at the end.
struct Outcome {
  std::int64_t first = -1;
  bool at_end = false;
};

bool is_alarm(const detectors::Symptom& symptom) {
  return symptom.severity > core::Severity::note && symptom.id != "loss.nonfinite";
}

Outcome judge(const std::vector<double>& values, std::int64_t not_before) {
  detectors::RunContext context;
  context.series_names = {"loss"};
  detection::DetectorBank bank(context);
  Outcome outcome;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const detectors::Reading reading{record::Role::loss, 0, values[i], {}};
    const auto step = static_cast<std::int64_t>(i);
    bank.observe({step, 0, {&reading, 1}});
    if (outcome.first >= 0 || step < not_before) continue;
    for (const detectors::Symptom& symptom : bank.so_far()) {
      if (is_alarm(symptom) && symptom.last_step >= not_before) outcome.first = step;
    }
  }
  for (const detectors::Symptom& symptom : bank.finish())
    outcome.at_end = outcome.at_end || is_alarm(symptom);
  return outcome;
}

void quality(std::size_t steps) {
  constexpr std::uint64_t k_draws = 40;
  fmt::print("\n{:18} {:>12} {:>14} {:>12}\n", "curve", "alarm at end", "alarm while on",
             "median delay");
  for (const Kind& kind : kinds()) {
    std::uint64_t ended = 0;
    std::vector<std::int64_t> delays;
    for (std::uint64_t seed = 0; seed < k_draws; ++seed) {
      const Outcome outcome = judge(draw(kind, seed, steps), std::max<std::int64_t>(kind.onset, 0));
      ended += outcome.at_end ? 1 : 0;
      if (outcome.first >= 0)
        delays.push_back(outcome.first - std::max<std::int64_t>(kind.onset, 0));
    }
    std::sort(delays.begin(), delays.end());
    const std::string delay =
        kind.onset < 0 || delays.empty() ? "-" : fmt::format("{}", delays[delays.size() / 2]);
    fmt::print("{:18} {:>11.1f}% {:>13.1f}% {:>12}\n", kind.name,
               100.0 * static_cast<double>(ended) / k_draws,
               100.0 * static_cast<double>(delays.size()) / k_draws, delay);
  }
}

/// Best of five passes, ns per update.
double time_updates(const std::vector<double>& values,
                    const std::function<void(double, std::size_t)>& update) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const double begin = now();
    for (std::size_t i = 0; i < values.size(); ++i) update(values[i], i);
    best = std::min(best, (now() - begin));
  }
  return 1e9 * best / static_cast<double>(values.size());
}

void blocks(std::size_t steps) {
  const std::vector<double> values = draw(kinds()[1], 1, steps);
  double chain = 0;
  const double limit = time_updates(values, [&](double x, std::size_t) {
    for (int i = 0; i < 8; ++i)
      chain = chain * 0.999 + x;  // level, deviation, two sums: eight dependent steps
  });
  keep(chain);
  core::SortedWindow<128> window;
  core::RobustTrend trend;
  core::BlockSummary summary;
  core::TailWatch tail;
  detectors::SpikeFinder finder(detectors::SpikeFinder::Scale::linear, 1.5);
  fmt::print("limit: chain of 8 dependent multiply-adds {:7.1f} ns\n", limit);
  fmt::print("SortedWindow<128> push + median           {:7.1f} ns\n",
             time_updates(values, [&](double x, std::size_t) {
               window.push(x);
               keep(window.median());
             }));
  fmt::print("RobustTrend update                        {:7.1f} ns\n",
             time_updates(values, [&](double x, std::size_t) { keep(trend.update(x).z); }));
  fmt::print("BlockSummary add                          {:7.1f} ns\n",
             time_updates(values, [&](double x, std::size_t i) {
               keep(summary.add(static_cast<std::int64_t>(i), x) ? 1 : 0);
             }));
  fmt::print("TailWatch add                             {:7.1f} ns\n",
             time_updates(values, [&](double x, std::size_t) { tail.add(std::fabs(x - 2)); }));
  fmt::print("SpikeFinder add                           {:7.1f} ns\n",
             time_updates(values, [&](double x, std::size_t i) {
               finder.add({x, static_cast<std::int64_t>(i), {}});
             }));
}

/// One run of 64 series: every role once, the rest loss components and reward functions.
void bank(std::size_t steps) {
  std::vector<record::Role> roles;
  for (unsigned i = 1; i < static_cast<unsigned>(record::Role::count_); ++i)
    roles.push_back(static_cast<record::Role>(i));
  while (roles.size() < 64)
    roles.push_back(roles.size() % 2 == 0 ? record::Role::loss_component
                                          : record::Role::reward_component);
  detectors::RunContext context;
  for (std::size_t i = 0; i < roles.size(); ++i)
    context.series_names.push_back(fmt::format("series{}", i));
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < roles.size(); ++i)
    values.push_back(draw(kinds()[i % kinds().size()], i, steps));
  detection::DetectorBank whole(context);
  std::vector<detectors::Reading> readings(roles.size());
  std::vector<double> micros;
  for (std::size_t begin = 0; begin + 1000 <= steps; begin += 1000) {
    const double start = now();
    for (std::size_t step = begin; step < begin + 1000; ++step) {
      for (std::size_t i = 0; i < roles.size(); ++i)
        readings[i] = {roles[i], static_cast<std::uint32_t>(i), values[i][step], {}};
      whole.observe({static_cast<std::int64_t>(step), 0, readings});
    }
    micros.push_back(1e6 * (now() - start) / 1000);
  }
  whole.finish();
  std::sort(micros.begin(), micros.end());
  fmt::print(
      "\nall detectors, 64 series: {:.2f} us a step (median of blocks of 1000; {:.2f} to {:.2f})\n",
      micros[micros.size() / 2], micros.front(), micros.back());
}

void dump(const std::string& folder, std::size_t steps) {
  std::filesystem::create_directories(folder);
  for (const Kind& kind : kinds()) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const std::vector<double> values = draw(kind, seed, steps);
      std::ofstream out(fmt::format("{}/{}.{}.{}.f64", folder, kind.name, kind.onset, seed),
                        std::ios::binary);
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(double)));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t steps = 20000;
  std::string folder;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--steps")
      steps = static_cast<std::size_t>(std::atoll(argv[i + 1]));
    if (std::string_view(argv[i]) == "--dump") folder = argv[i + 1];
  }
  if (!folder.empty()) dump(folder, 3000);
  blocks(200000);
  bank(steps);
  quality(3000);
  return 0;
}

#pragma once
/// Runs made in a test: noise that is the same on every machine, series and settings in a line.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::test {

/// Gaussian noise: splitmix64 (Steele, Lea, Flood, 2014) and Box's and Muller's transform.
/// std::normal_distribution differs from one library to the next.
class Gauss {
 public:
  explicit Gauss(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  double operator()() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
  }

 private:
  double uniform() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return (static_cast<double>((z ^ (z >> 31U)) >> 11U) + 0.5) * 0x1p-53;
  }
  std::uint64_t state_;
};

/// A loss as training gives it: falls from 5 to 2, with noise of this sigma on each step, and
/// `wander` as far above or below as a whole run may lie from another.
inline std::vector<double> falling_loss(std::uint64_t seed, std::size_t size, double sigma = 0.05,
                                        double wander = 0) {
  Gauss gauss(seed);
  const double offset = wander * gauss();
  std::vector<double> out;
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(2 + offset + 3 * std::exp(-static_cast<double>(i) / 40) + sigma * gauss());
  return out;
}

/// Steps from 1.
inline void add_series(record::Run& run, const std::string& name, record::Role role,
                       const std::vector<double>& values, std::int64_t stride = 1,
                       record::StepKind kind = record::StepKind::explicit_) {
  record::RunBuilder build(run);
  if (run.sources.empty()) build.open(run.name + "/train.log", "text-log", 1000);
  const record::SeriesId id = build.series(0, name, name, role, kind);
  std::int64_t step = 0;
  for (const double value : values) build.append(id, step += stride, value, 1, 0);
}

inline void add_setting(record::Run& run, const std::string& name, core::Value value,
                        std::uint64_t line = 3) {
  record::RunBuilder build(run);
  if (run.sources.empty()) build.open(run.name + "/train.log", "text-log", 1000);
  build.setting({name, std::move(value), name, "", {0, line, 0}});
}

inline record::Run run_with_loss(const std::string& name, const std::vector<double>& loss) {
  record::Run run;
  run.name = name;
  add_series(run, "loss", record::Role::loss, loss);
  return run;
}

}  // namespace aplomb::test

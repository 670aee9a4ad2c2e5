#pragma once
/// What the guard's tests need: a training loop of numbers instead of tensors.

#include <aplomb/guard.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace aplomb::test {

inline constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

/// Seeded noise.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}
  double gauss(double level, double sigma) { return level + sigma * normal_(engine_); }
  double student3(double level, double scale) { return level + scale * t3_(engine_); }
  /// A gradient norm: log-normal about `level`.
  double norm(double level) { return level * std::exp(0.15 * normal_(engine_)); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> t3_{3};
};

/// Feeds a guard one step after the other: loss and norm, one group.
class Loop {
 public:
  explicit Loop(const GuardOptions& options = {}) : guard_(options) {}

  GuardVerdict feed(std::optional<double> loss, double norm, double lr = 1e-3) {
    GuardGroup group;
    if (std::isfinite(norm)) {
      group.sum_squares = norm * norm;
    } else {
      group.nonfinite = 1;
    }
    GuardStep step;
    step.step = next_++;
    step.loss = loss;
    step.lr = lr;
    step.groups = {&group, 1};
    return guard_.step(step);
  }
  /// Healthy steps about a level; expects that the guard says nothing.
  void calm(int steps, double level = 2.0) {
    for (int i = 0; i < steps; ++i) {
      const GuardVerdict verdict = feed(noise_.gauss(level, 0.05), noise_.norm(1.0));
      EXPECT_TRUE(verdict.action == GuardAction::proceed && verdict.reason().empty())
          << "step " << next_ - 1 << ": " << verdict.reason();
    }
  }

  Guard& guard() { return guard_; }
  Noise& noise() { return noise_; }
  std::int64_t next() const { return next_; }
  void go_back(std::int64_t step) { next_ = step; }

 private:
  Guard guard_;
  Noise noise_{7};
  std::int64_t next_ = 0;
};

}  // namespace aplomb::test

#pragma once
/// Schedule: the learning rate of each optimizer step: linear warm-up, then cosine, linear or
/// constant. As transformers' get_*_schedule_with_warmup: step 0 is the first, and has the factor 0
/// where there is a warm-up.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace aplomb::train::loop {

class Schedule {
 public:
  enum class Shape : std::uint8_t { constant, linear, cosine };

  /// `end`: share of the peak at `total` steps.
  Schedule(Shape shape, std::int64_t warmup, std::int64_t total, double end = 0)
      : shape_(shape), warmup_(warmup), total_(total), end_(end) {}

  /// A schedule of the caller's own: `of` gives the share of the peak at a step.
  Schedule(std::int64_t warmup, std::int64_t total, std::function<double(std::int64_t)> of)
      : shape_(Shape::constant), warmup_(warmup), total_(total), end_(0), of_(std::move(of)) {}

  /// Of the peak, for the optimizer step `step` (from 0).
  double factor(std::int64_t step) const;
  std::int64_t warmup_steps() const { return warmup_; }
  std::int64_t total_steps() const { return total_; }

 private:
  Shape shape_;
  std::int64_t warmup_;
  std::int64_t total_;
  double end_;
  std::function<double(std::int64_t)> of_;  // empty: by shape
};

std::optional<Schedule::Shape> schedule_shape(std::string_view name);

}  // namespace aplomb::train::loop

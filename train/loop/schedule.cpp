#include "train/loop/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aplomb::train::loop {

double Schedule::factor(std::int64_t step) const {
  if (of_) return of_(step);
  if (step < warmup_) return static_cast<double>(step) / static_cast<double>(warmup_);
  if (shape_ == Shape::constant) return 1;
  const double way = static_cast<double>(std::max<std::int64_t>(total_ - warmup_, 1));
  const double done = std::min(static_cast<double>(step - warmup_) / way, 1.0);
  const double shape =
      shape_ == Shape::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return end_ + (1 - end_) * std::max(shape, 0.0);
}

std::optional<Schedule::Shape> schedule_shape(std::string_view name) {
  if (name == "constant") return Schedule::Shape::constant;
  if (name == "linear") return Schedule::Shape::linear;
  if (name == "cosine") return Schedule::Shape::cosine;
  return std::nullopt;
}

}  // namespace aplomb::train::loop

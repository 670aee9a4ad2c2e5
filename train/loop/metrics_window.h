#pragma once
/// MetricsWindow: what the next record tells of the steps since the last one: their mean loss, and
/// how fast they were.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace aplomb::train::loop {

class MetricsWindow {
 public:
  using Clock = std::chrono::steady_clock;

  /// The clock runs from `now` on; what the window holds stays.
  void start(Clock::time_point now) { begin_ = now; }
  /// A window that begins at `now` and holds no step.
  void clear(Clock::time_point now) {
    loss_ = 0;
    tokens_ = steps_ = 0;
    begin_ = now;
  }
  /// A window of which a checkpoint holds the losses.
  void restore(double loss, std::int64_t steps) {
    loss_ = loss;
    steps_ = steps;
  }
  void add(double loss, std::int64_t tokens) {
    loss_ += loss;
    tokens_ += tokens;
    ++steps_;
  }
  /// Time within the window that was no training: an evaluation.
  void leave_out(Clock::duration time) { begin_ += time; }

  /// Of a window that holds a step.
  double mean_loss() const { return loss_ / static_cast<double>(steps_); }
  double step_time_s(Clock::time_point now) const {
    return seconds(now) / static_cast<double>(steps_);
  }
  double tokens_per_s(Clock::time_point now) const {
    return static_cast<double>(tokens_) / std::max(seconds(now), 1e-9);
  }

  double loss_sum() const { return loss_; }
  std::int64_t steps() const { return steps_; }

 private:
  double seconds(Clock::time_point now) const {
    return std::chrono::duration<double>(now - begin_).count();
  }

  double loss_ = 0;  ///< sum over the steps
  std::int64_t steps_ = 0;
  std::int64_t tokens_ = 0;
  Clock::time_point begin_;
};

}  // namespace aplomb::train::loop

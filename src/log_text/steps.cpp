#include "log_text/steps.h"

#include <algorithm>

namespace aplomb::log_text {

/// The step of a count that may begin anew with each epoch.
std::int64_t StepTracker::go_on(double count, double total, bool epoch_beside) {
  const bool epoch_rose = epoch_ > count_epoch_;
  // Equal counts of two whole epochs, as `[epoch 2][iter 0/88]` once an epoch, have gone round too.
  const bool around = epoch_beside && count == count_ && total > count &&
                      std::floor(epoch_) > std::floor(count_epoch_);
  if (count < count_ || around) {
    if (epoch_rose) {
      base_ += static_cast<std::int64_t>(total >= count_ ? total : count_ + 1);
      within_epochs_ = true;
    } else {
      base_ = 0;
    }
  }
  return base_ + static_cast<std::int64_t>(count);
}

std::int64_t StepTracker::note_count(const Place& place) {
  const bool stated = !std::isnan(place.step);
  const double count = stated ? place.step : place.inner;
  const double total = stated ? place.step_total : place.inner_total;
  std::int64_t step = 0;
  const bool whole_epoch = epoch_ == std::floor(epoch_) && epoch_ < 1e6;
  if (stated && place.absolute) {
    base_ = 0;
    step = static_cast<std::int64_t>(count);
  } else if (!stated && total > 0 && whole_epoch) {
    // Epochs count from 0 or from 1: a first epoch of 1 or more says 1, as most trainers do.
    const double before = first_epoch_ >= 1 ? std::max(0.0, epoch_ - 1) : epoch_;
    step = static_cast<std::int64_t>(std::min(before * total + count, 1e15));
    within_epochs_ = before > 0;
  } else {
    step = go_on(count, total, !std::isnan(place.epoch));
  }
  count_ = count;
  count_epoch_ = epoch_;
  if (!step_ || *step_ != step) ++serial_;
  step_ = step;
  return step;
}

}  // namespace aplomb::log_text

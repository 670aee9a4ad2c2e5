#pragma once
/// StepTracker: which optimizer step a line belongs to, from whatever counts its trainer prints.
/// One tracker per rank.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace aplomb::log_text {

/// What one line says of its place; NaN where it says nothing.
struct Place {
  static constexpr double k_none = std::numeric_limits<double>::quiet_NaN();
  double step = k_none;
  double step_total = k_none;
  double epoch = k_none;
  double inner = k_none;  ///< count within the epoch
  double inner_total = k_none;
  bool absolute = false;  ///< the step is said to count over all epochs

  bool counts() const { return !std::isnan(step) || !std::isnan(inner); }
};

class StepTracker {
 public:
  /// Takes in what a line says; the step that it states, if it does. A count that falls when the
  /// epoch rises counts within epochs: it is made to go on. One that falls otherwise is a restart.
  std::optional<std::int64_t> note(const Place& place) {
    if (!std::isnan(place.epoch)) note_epoch(place.epoch);
    if (!place.counts()) return std::nullopt;
    return note_count(place);
  }

  /// The step stated last, for lines that state none.
  std::optional<std::int64_t> step() const { return step_; }
  /// The epoch given last; NaN before the first.
  double epoch() const { return epoch_; }
  /// Steps of one pass, where counts within epochs were made to go on; nothing before the second epoch.
  std::optional<double> pass_length() const {
    const double passes = epoch_ - first_epoch_;
    if (!(passes >= 1) || !step_ || !within_epochs_) return std::nullopt;
    return (static_cast<double>(*step_) - count_) / passes;
  }
  /// Rises whenever step or epoch move: two lines of one serial stand at the same place.
  std::uint64_t serial() const { return serial_; }

 private:
  void note_epoch(double epoch) {
    if (epoch == epoch_) return;
    if (std::isnan(first_epoch_) || epoch < epoch_) first_epoch_ = epoch;
    epoch_ = epoch;
    ++serial_;
  }
  std::int64_t note_count(const Place& place);
  std::int64_t go_on(double count, double total, bool epoch_beside);

  std::optional<std::int64_t> step_;
  double epoch_ = Place::k_none;
  double first_epoch_ = Place::k_none;
  double count_ = Place::k_none;        // as printed
  double count_epoch_ = Place::k_none;  // epoch when it was printed
  std::int64_t base_ = 0;               // steps of the epochs before
  bool within_epochs_ = false;          // the count begins anew with each epoch
  std::uint64_t serial_ = 0;
};

}  // namespace aplomb::log_text

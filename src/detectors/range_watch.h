#pragma once
/// RangeWatch: how often, since when and how far a metric is beyond its red flag. One bad record is
/// not a state: the watch fires on a metric that ends beyond the flag, or was there for half of its
/// records.

#include <algorithm>
#include <cstdint>

#include "core/block_summary.h"
#include "detectors/support.h"

namespace aplomb::detectors {

class RangeWatch {
 public:
  enum class Side { above, below };
  RangeWatch(Side side, double flag) : side_(side), flag_(flag) {}

  void add(const Sample& sample) {
    if (beyond_.of == 0) first_ = worst_ = sample;
    last_ = sample;
    const bool beyond = side_ == Side::above ? sample.value > flag_ : sample.value < flag_;
    beyond_.add(beyond);
    run_ = beyond ? run_ + 1 : 0;
    if (beyond && run_ == 1) since_ = sample;
    if (side_ == Side::above ? sample.value > worst_.value : sample.value < worst_.value)
      worst_ = sample;
    blocks_.add(sample.step, sample.value);
  }

  /// Ends beyond the flag (three records, or all of fewer), or was beyond it in half of the
  /// records.
  bool fires() const {
    if (beyond_.of == 0 || beyond_.hit == 0) return false;
    return run_ >= std::min<std::uint64_t>(3, beyond_.of) || beyond_.share() >= 0.5;
  }
  /// Beyond it for good: ten records or more, and most of the last.
  bool lasting() const { return beyond_.hit >= 10 && (run_ >= 10 || beyond_.share() >= 0.5); }

  double share() const { return beyond_.share(); }
  std::uint64_t count() const { return beyond_.of; }
  const Sample& first() const { return first_; }
  const Sample& last() const { return last_; }
  const Sample& worst() const { return worst_; }
  const Sample& since() const { return since_; }  ///< of the last stay beyond the flag
  const core::BlockSummary& blocks() const { return blocks_; }

 private:
  Side side_;
  double flag_;
  Tally beyond_;
  std::uint64_t run_ = 0;
  Sample first_;
  Sample last_;
  Sample worst_;
  Sample since_;
  core::BlockSummary blocks_;
};

/// The symptom of a watch that fires: share, first, last and worst value.
Symptom describe_range(const RangeWatch& watch, std::string id, std::string_view series,
                       core::Severity severity);

}  // namespace aplomb::detectors

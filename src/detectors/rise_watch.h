#pragma once
/// RiseWatch: is this series rising right now, since when, by how much? The question that is put at
/// the moment of a NaN or a spike (did the gradient norm give warning?), so it is kept answerable
/// at every sample.
///
/// Two kinds of rise: a jump out of the noise that has not come down yet, and a slow climb off the
/// best level.

#include <cstdint>

#include "core/block_summary.h"
#include "core/robust_trend.h"

namespace aplomb::detectors {

struct Rise {
  bool rising = false;
  double ratio = 1;        ///< peak of the rise over the level before it
  std::int64_t since = 0;  ///< step at which it began
  bool slow = false;       ///< a climb, not a jump
};

class RiseWatch {
 public:
  /// A climb counts from `slow_ratio` times the best level on.
  explicit RiseWatch(double slow_ratio = 1.25) : slow_ratio_(slow_ratio) {}

  /// `sample` must be finite. Cost as RobustTrend's.
  void add(std::int64_t step, double sample);
  Rise now() const;

 private:
  Rise slow_rise() const;

  double slow_ratio_;

  static constexpr double k_jump_ratio =
      2.0;  // spikes are told as 2x to 10x (axolotl's training stability guide, loss spikes)
  static constexpr double k_stay_ratio = 1.5;  // still up while above this
  static constexpr int k_calm = 3;             // samples back below before a rise is over
  static constexpr std::size_t k_level = 3;    // samples that make a level
  static constexpr int k_settled = 4;          // samples near the first of a rise: it is the level

  core::RobustTrend trend_;
  core::SortedWindow<16> head_;  // judges before the trend can
  core::BlockSummary blocks_;
  bool up_ = false;
  bool early_ = false;  ///< the rise set in before there was a level to rise from
  int ups_ = 0;         ///< samples of the rise
  int calm_ = 0;
  double base_ = 0;
  double first_up_ = 0;
  double peak_ = 0;
  std::int64_t since_ = 0;
};

}  // namespace aplomb::detectors

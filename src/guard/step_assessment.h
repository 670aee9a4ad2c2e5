#pragma once
/// StepAssessment: how this step's loss and gradient norm stand against what the run has shown so far.
/// Made once a step, before the policies; all of them look at the same judgement.

#include <array>
#include <cstdint>

#include "core/robust_trend.h"
#include "core/tail.h"

namespace aplomb::guard {

/// One number of this step.
struct Standing {
  bool given = false;
  bool finite = false;
  bool judged = false;  ///< finite, and enough samples came before it
  double value = 0;
  double level = 0;    ///< where it stood before this step
  double z = 0;        ///< in sigma of its own noise
  double ratio = 1;    ///< value / level; 1 where the level is not above 0
  bool spike = false;  ///< above k_outlier sigma, and apart from the tail of its own noise
};

/// A series that no bad sample poisons: RobustTrend for level and noise, TailWatch for what else
/// is usual in its tail.
class SeriesWatch {
 public:
  enum class Scale { linear, logarithmic };
  explicit SeriesWatch(Scale scale) : scale_(scale) {}

  /// Judges a sample, and takes it in if it is finite (and > 0 on the logarithmic scale).
  Standing judge(double value);
  /// Samples in a row far above the level, this one included.
  std::uint32_t run() const { return run_; }
  /// The last sample completed a step to a new level.
  bool shifted() const { return shifted_; }
  void serialize(core::StateArchive& archive);

  /// That noise alone stands so far apart: as the detector loss.spike. A run asks this at each of
  /// its record deviations; on heavy-tailed noise (Student t3) 3000 steps cost 0.04 skips (bench).
  static constexpr double k_false_alarm = 1e-2;

 private:
  bool apart(double z) const;

  Scale scale_;
  core::RobustTrend trend_;
  core::TailWatch tail_;
  std::uint32_t run_ = 0;
  double peak_z_ = 0;  // of the open run
  bool shifted_ = false;
};

/// The loss leaves its best level little by little: each step is within the noise, the sum is not.
/// Medians of blocks of 32 samples; the last three must all stand above k_ratio times the best
/// smoothed level, out of the noise of such medians, and have come there in more than one jump (a
/// jump is a spike that stayed, or another mixture of data).
class ClimbWatch {
 public:
  void add(double sample);
  bool climbing() const { return climbing_; }
  double best() const { return best_; }
  double now() const { return recent_[2]; }
  /// Forgets the best level: the present one counts from now on (after a measure was taken).
  void rebase();
  void serialize(core::StateArchive& archive);

 private:
  void end_block(double level);

  static constexpr std::size_t k_block = 32;
  static constexpr double k_ratio = 1.3;   // detectors' bench: no healthy real run climbs by 30 %
  static constexpr double k_sigma = 6.0;   // the customary rule, here of block medians
  static constexpr double k_sudden = 0.6;  // share of the rise in one block: no climb but a jump

  core::SortedWindow<k_block> block_;
  core::SortedWindow<64> changes_;  // of one block's median to the next
  std::array<double, 3> recent_{};  // oldest first
  std::uint32_t blocks_ = 0;        // since the start or the last rebase, at most 2^32
  double best_ = 0;
  double steepest_ = 0;  // rise in one block since the best
  bool climbing_ = false;
};

struct StepAssessment {
  Standing loss;
  Standing norm;
  std::uint64_t nonfinite_grads = 0;
  std::uint32_t loss_run = 0;  ///< losses in a row far above the level
  bool loss_shifted = false;
  bool climbing = false;
  double climb_from = 0;  ///< best level, and where the loss stands now
  double climb_to = 0;

  bool nonfinite() const {
    return nonfinite_grads > 0 || (norm.given && !norm.finite) || (loss.given && !loss.finite);
  }
};

}  // namespace aplomb::guard

#include "guard/step_assessment.h"

#include <algorithm>
#include <cmath>

namespace aplomb::guard {
namespace {

/// Beyond this a deviation is simply huge; keeps a constant series (noise 0) finite.
constexpr double k_most_z = 1e6;
/// Deviations needed to know a tail; a series without noise has none.
constexpr std::size_t k_known_tail = 4;
/// Samples before a tail says much about one in thousands; until then three times the level will do
/// (Lightning's SpikeDetection asks for 3x the mean).
constexpr std::uint64_t k_young = 100;
constexpr double k_young_ratio = 3.0;
constexpr double k_stays_up = 0.5;  // of the deviation that began an episode

}  // namespace

Standing SeriesWatch::judge(double value) {
  Standing standing;
  standing.given = true;
  standing.value = value;
  standing.finite = std::isfinite(value);
  shifted_ = false;
  const bool logarithmic = scale_ == Scale::logarithmic;
  if (!standing.finite || (logarithmic && !(value > 0))) return standing;

  const core::TrendJudgement judgement = trend_.update(logarithmic ? std::log(value) : value);
  if (!judgement.judged) return standing;
  standing.judged = true;
  standing.level = logarithmic ? std::exp(judgement.level) : judgement.level;
  standing.z = std::clamp(judgement.z, -k_most_z, k_most_z);
  if (standing.level > 0) standing.ratio = value / standing.level;
  shifted_ = judgement.shifted;
  // What has begun is over when the series has come down, not when it wavers at the border.
  const double border =
      run_ > 0 ? k_stays_up * core::RobustTrend::k_outlier : core::RobustTrend::k_outlier;
  if (standing.z > border) {
    const bool young = tail_.seen() < k_young && standing.ratio >= k_young_ratio;
    standing.spike = standing.z > core::RobustTrend::k_outlier && (young || apart(standing.z));
    peak_z_ = std::max(peak_z_, standing.z);
    run_ = shifted_ ? 0 : run_ + 1;
    if (shifted_) peak_z_ = 0;  // a new level says nothing about the tail
    return standing;
  }
  if (run_ > 0) {
    // One entry an episode: its samples are no independent evidence of a heavy tail.
    tail_.add(peak_z_, 1);
    run_ = 0;
    peak_z_ = 0;
  }
  tail_.add(std::fabs(standing.z));
  return standing;
}

bool SeriesWatch::apart(double z) const {
  if (tail_.largest().size() < k_known_tail) return true;
  core::TailWatch probe = tail_;
  probe.add(z, 0);
  const std::size_t apart = probe.outliers(k_false_alarm);
  return apart > 0 && z >= probe.largest()[apart - 1].magnitude;
}

void SeriesWatch::serialize(core::StateArchive& archive) {
  trend_.serialize(archive);
  tail_.serialize(archive);
  archive.field(run_);
  archive.field(peak_z_);
  archive.field(shifted_);
  if (!std::isfinite(peak_z_)) archive.reject();
}

void ClimbWatch::add(double sample) {
  if (!std::isfinite(sample)) return;
  block_.push(sample);
  if (!block_.full()) return;
  end_block(block_.median());
  block_.clear();
}

void ClimbWatch::end_block(double level) {
  if (blocks_ > 0) changes_.push(level - recent_[2]);
  const double step_up = blocks_ > 0 ? level - recent_[2] : 0.0;
  recent_ = {recent_[1], recent_[2], level};
  ++blocks_;
  climbing_ = false;
  if (blocks_ < recent_.size()) return;
  const double smooth = std::max(std::min(recent_[0], recent_[1]),
                                 std::min(std::max(recent_[0], recent_[1]), recent_[2]));
  if (blocks_ == recent_.size() || smooth <= best_) {
    best_ = smooth;
    steepest_ = std::max(step_up, 0.0);  // the newest block may be on its way up already
    return;
  }
  steepest_ = std::max(steepest_, step_up);
  const double least = *std::min_element(recent_.begin(), recent_.end());
  const double rise = level - best_;
  const double noise = changes_.spread();
  climbing_ = best_ > 0 && least > k_ratio * best_ && least - best_ > k_sigma * noise &&
              steepest_ < k_sudden * rise;
}

void ClimbWatch::rebase() {
  blocks_ = 0;
  climbing_ = false;
  steepest_ = 0;
  block_.clear();
}

void ClimbWatch::serialize(core::StateArchive& archive) {
  block_.serialize(archive);
  changes_.serialize(archive);
  for (double& level : recent_) archive.field(level);
  archive.field(blocks_);
  archive.field(best_);
  archive.field(steepest_);
  archive.field(climbing_);
  if (block_.full()) archive.reject();
}

}  // namespace aplomb::guard

#include "detectors/rise_watch.h"

#include <algorithm>
#include <cmath>

namespace aplomb::detectors {

void RiseWatch::add(std::int64_t step, double sample) {
  const core::TrendJudgement judgement = trend_.update(sample);
  const double level = judgement.judged ? judgement.level : head_.median();
  const bool beyond_noise =
      judgement.judged ? judgement.z > core::RobustTrend::k_outlier : head_.size() >= 1;
  if (up_) {
    peak_ = std::max(peak_, sample);
    calm_ = sample < k_stay_ratio * base_ ? calm_ + 1 : 0;
    ++ups_;
    // Gradient norms are small at the very first steps: what comes then and stays is no rise.
    const bool settled = early_ && ups_ >= k_settled && peak_ < k_jump_ratio * first_up_;
    if (calm_ >= k_calm || settled) up_ = false;
  } else if (beyond_noise && level > 0 && sample > k_jump_ratio * level) {
    up_ = true;
    calm_ = 0;
    ups_ = 1;
    early_ = head_.size() < k_level;
    first_up_ = sample;
    base_ = level;
    peak_ = sample;
    since_ = step;
  }
  if (!head_.full()) head_.push(sample);
  blocks_.add(step, sample);
}

Rise RiseWatch::now() const {
  if (up_ && calm_ == 0) return {true, peak_ / base_, since_, false};
  return slow_rise();
}

Rise RiseWatch::slow_rise() const {
  const auto blocks = blocks_.blocks();
  if (blocks.size() < 6) return {};
  const auto best = std::min_element(
      blocks.begin(), blocks.end(),
      [](const core::Block& a, const core::Block& b) { return a.level() < b.level(); });
  const std::size_t n = blocks.size();
  core::SortedWindow<4> last;
  for (std::size_t i = n - 3; i < n; ++i) last.push(blocks[i].level());
  // Three blocks that all stand a quarter above the best one, and no isolated best.
  const double low = best->level();
  if (!(low > 0) || last.least() < 1.25 * low || best + 3 >= blocks.end()) return {};
  const double before = best == blocks.begin() ? (best + 1)->level() : (best - 1)->level();
  if (before > last.least()) return {};
  if (best == blocks.begin() && before > k_jump_ratio * low) return {};  // the first step alone
  if (last.median() < slow_ratio_ * low) return {};
  return {true, last.median() / low, best->last_step, true};
}

}  // namespace aplomb::detectors

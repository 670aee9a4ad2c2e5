#include "core/robust_trend.h"

#include <cmath>

namespace aplomb::core {

double RobustTrend::noise() const {
  const double floor = 1e-4 * std::fabs(level_.median()) + 1e-300;
  // Quartiles of few residuals are often too close: widen them (at 7 by 1.9, at 256 not to speak
  // of).
  const auto size = static_cast<double>(residual_.size());
  const double spread = residual_.size() < 4 ? 0.0 : residual_.spread() * (1 + 6 / size);
  return std::max(spread, floor);
}

TrendJudgement RobustTrend::update(double sample) {
  TrendJudgement result;
  if (accepted_ < k_warmup) {
    accept(sample, level_.empty() ? sample : level_.median());
    return result;
  }
  result.judged = true;
  result.level = level_.median();
  result.noise = noise();
  // A falling series is always below its median; only the part of the drift that points to the
  // sample excuses it.
  const double drift = residual_.median();
  const double off = sample - result.level;
  result.z = (off > 0 ? off - std::max(drift, 0.0) : off - std::min(drift, 0.0)) / result.noise;
  if (std::fabs(result.z) > k_outlier) {
    result.outlier = true;
    result.shifted = note_outlier(sample, off > 0);
    return result;
  }
  pending_size_ = 0;
  accept(sample, result.level);
  return result;
}

void RobustTrend::accept(double sample, double level) {
  if (accepted_ > 0) residual_.push(sample - level);
  level_.push(sample);
  ++accepted_;
}

bool RobustTrend::note_outlier(double sample, bool above) {
  if (pending_size_ > 0 && pending_above_ != above) pending_size_ = 0;
  pending_above_ = above;
  pending_[pending_size_++] = sample;
  if (pending_size_ < k_shift_run) return false;
  level_.clear();
  for (const double each : pending_) level_.push(each);
  accepted_ += k_shift_run;
  pending_size_ = 0;
  return true;
}

void RobustTrend::serialize(StateArchive& archive) {
  level_.serialize(archive);
  residual_.serialize(archive);
  auto pending = static_cast<std::uint32_t>(pending_size_);
  archive.field(pending);
  if (pending >= k_shift_run) return archive.reject();
  for (std::size_t i = 0; i < pending; ++i) {
    archive.field(pending_[i]);
    if (!std::isfinite(pending_[i])) return archive.reject();
  }
  pending_size_ = pending;
  archive.field(pending_above_);
  archive.field(accepted_);
  // Beyond the warm-up there is a level: its median is read without asking.
  if (accepted_ > 0 && level_.empty()) archive.reject();
}

}  // namespace aplomb::core

#pragma once
/// Kept: a series in at most k_most samples, evenly over the whole of it, for judgements that need
/// its shape and not only its levels. O(1) memory: when it is full every other sample goes, and from
/// then on only each second (fourth, ...) is taken up.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/median.h"
#include "detectors/support.h"

namespace aplomb::detectors {

class Kept {
 public:
  static constexpr std::size_t k_most = 512;

  void add(const Sample& sample) {
    last_ = sample;
    if (count_++ % stride_ != 0) return;
    if (samples_.size() == k_most) {
      for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
      samples_.resize(samples_.size() / 2);
      stride_ *= 2;
      if ((count_ - 1) % stride_ != 0) return;
    }
    samples_.push_back(sample);
  }

  std::uint64_t count() const { return count_; }  ///< that were given
  std::size_t size() const { return samples_.size(); }
  bool thinned() const { return stride_ > 1; }
  const Sample& operator[](std::size_t index) const { return samples_[index]; }
  const Sample& front() const { return samples_.front(); }
  const Sample& back() const { return last_; }  ///< the latest, kept or not
  const std::vector<Sample>& samples() const { return samples_; }

  /// Median of the samples from a share of the series to another (0: begin, 1: end).
  double median(double from, double to) const {
    std::vector<double> values;
    const auto size = static_cast<double>(samples_.size());
    const auto begin = static_cast<std::size_t>(from * size);
    const auto end = std::max(static_cast<std::size_t>(to * size), begin + 1);
    for (std::size_t i = begin; i < std::min(end, samples_.size()); ++i)
      values.push_back(samples_[i].value);
    return core::upper_median(std::move(values));
  }

  /// Sigma of one sample about its neighbours: of white noise the median of |x_i+1 - x_i| is 0.954
  /// sigma.
  double noise(double from = 0, double to = 1) const {
    std::vector<double> steps;
    const auto size = static_cast<double>(samples_.size());
    const auto end = std::min(samples_.size(), static_cast<std::size_t>(to * size));
    for (auto i = static_cast<std::size_t>(from * size) + 1; i < end; ++i)
      steps.push_back(std::fabs(samples_[i].value - samples_[i - 1].value));
    return steps.empty() ? 0 : core::upper_median(std::move(steps)) / 0.954;
  }

 private:
  std::vector<Sample> samples_;
  Sample last_;
  std::uint64_t count_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace aplomb::detectors

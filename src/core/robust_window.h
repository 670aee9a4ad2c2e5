#pragma once
/// SortedWindow: the last N samples, both in order of arrival and sorted, so that median and
/// quartiles cost O(1) and an update one memmove of at most N doubles (N = 128: about 20 ns). No
/// allocation, trivially copyable.
///
///     SortedWindow<128> window;
///     window.push(x);                       // x must be finite: the caller keeps NaN out
///     double level = window.median();       // NaN while empty
///     double noise = window.spread();       // sigma of Gaussian noise: IQR / 1.349
///
/// A median withstands any outlier until they are half of the window, the quartiles until a
/// quarter.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/state_archive.h"

namespace aplomb::core {

template <std::size_t N>
class SortedWindow {
 public:
  static constexpr std::size_t capacity() { return N; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }

  void clear() {
    size_ = 0;
    next_ = 0;
  }

  void push(double sample) {
    double* const sorted = sorted_.data();
    std::size_t to = rank(sample);
    if (size_ == N) {
      // The oldest leaves, the new one enters: only what lies between their places moves.
      const std::size_t from = rank(ring_[next_]);
      if (to > from) {
        --to;
        std::move(sorted + from + 1, sorted + to + 1, sorted + from);
      } else {
        std::move_backward(sorted + to, sorted + from, sorted + from + 1);
      }
    } else {
      std::move_backward(sorted + to, sorted + size_, sorted + size_ + 1);
      ++size_;
    }
    sorted[to] = sample;
    ring_[next_] = sample;
    next_ = next_ + 1 == N ? 0 : next_ + 1;
  }

  /// Linear between order statistics (Hyndman-Fan type 7); `share` in 0..1. NaN while empty.
  double quantile(double share) const {
    if (size_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const double place = share * static_cast<double>(size_ - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, size_ - 1);
    return sorted_[below] +
           (place - static_cast<double>(below)) * (sorted_[above] - sorted_[below]);
  }
  double median() const { return quantile(0.5); }
  double least() const { return quantile(0); }
  double most() const { return quantile(1); }

  /// The standard deviation of Gaussian noise with these quartiles; 0.7413 = 1 / (2 * 0.6745).
  double spread() const { return size_ < 2 ? 0.0 : 0.7413 * (quantile(0.75) - quantile(0.25)); }

  /// Saves or loads the samples in order of arrival.
  void serialize(StateArchive& archive) {
    auto size = static_cast<std::uint32_t>(size_);
    auto next = static_cast<std::uint32_t>(next_);
    archive.field(size);
    archive.field(next);
    if (size > N || next >= N || (size < N && next != size)) return archive.reject();
    for (std::size_t i = 0; i < size; ++i) {
      archive.field(ring_[i]);
      if (!std::isfinite(ring_[i])) return archive.reject();
    }
    if (!archive.reading()) return;
    size_ = size;
    next_ = next;
    std::copy_n(ring_.begin(), size_, sorted_.begin());
    std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(size_));
  }

 private:
  /// How many samples are less than this one. Without branches: their outcome cannot be predicted.
  std::size_t rank(double sample) const {
    std::size_t base = 0;
    for (std::size_t left = size_; left > 0;) {
      const std::size_t half = (left + 1) / 2;
      base += sorted_[base + half - 1] < sample ? half : 0;
      left -= half;
    }
    return base;
  }

  std::array<double, N> ring_{};  // by arrival; next_ is the oldest once full
  std::array<double, N> sorted_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

}  // namespace aplomb::core

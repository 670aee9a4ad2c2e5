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
#include <cstddef>
#include <limits>

namespace aplomb {

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
    double* const begin = sorted_.data();
    if (size_ == N) {
      double* const old = std::lower_bound(begin, begin + size_, ring_[next_]);
      std::move(old + 1, begin + size_, old);
      --size_;
    }
    double* const at = std::upper_bound(begin, begin + size_, sample);
    std::move_backward(at, begin + size_, begin + size_ + 1);
    *at = sample;
    ring_[next_] = sample;
    next_ = next_ + 1 == N ? 0 : next_ + 1;
    ++size_;
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

 private:
  std::array<double, N> ring_{};  // by arrival; next_ is the oldest once full
  std::array<double, N> sorted_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

}  // namespace aplomb

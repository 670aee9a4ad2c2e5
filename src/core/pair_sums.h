#pragma once
/// PairSums: mean and Pearson's correlation of pairs that come one after another (Welford's updates).
/// O(1) memory.

#include <cmath>
#include <cstdint>

namespace aplomb::core {

class PairSums {
 public:
  void add(double x, double y) {
    ++count_;
    const double n = static_cast<double>(count_);
    const double dx = x - mean_x_;
    mean_x_ += dx / n;
    const double dy = y - mean_y_;
    mean_y_ += dy / n;
    xx_ += dx * (x - mean_x_);
    yy_ += dy * (y - mean_y_);
    xy_ += dx * (y - mean_y_);
  }

  std::uint64_t count() const { return count_; }
  double mean_x() const { return mean_x_; }
  /// -1 to 1; 0 where one of the two does not vary.
  double correlation() const { return xx_ > 0 && yy_ > 0 ? xy_ / std::sqrt(xx_ * yy_) : 0; }

 private:
  std::uint64_t count_ = 0;
  double mean_x_ = 0;
  double mean_y_ = 0;
  double xx_ = 0;
  double yy_ = 0;
  double xy_ = 0;
};

}  // namespace aplomb::core

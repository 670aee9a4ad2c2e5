#pragma once
/// Clock: how long one GPU needs for the operators of a step, each bound by its products or by its
/// bytes, whichever takes longer (the roofline, doi:10.1145/1498765.1498785). Operators run one
/// after the other, as PyTorch's do without compilation.

namespace aplomb::plan {

/// What a card reaches; 0 where unknown: then no time is told.
struct Rates {
  double flops_16bit = 0;  ///< matrix products a second, two operations a multiply-add
  double flops_32bit = 0;
  double bytes_per_s = 0;
};

class Clock {
 public:
  explicit Clock(Rates rates) : rates_(rates) {}

  /// One operator: `flops` of matrix products with factors of `width` bytes; `bytes` read and
  /// written.
  void run(double flops, int width, double bytes);

  double seconds() const { return product_s_ + memory_s_; }
  double product_s() const { return product_s_; }  ///< in operators bound by their products
  double memory_s() const { return memory_s_; }    ///< in operators bound by their bytes
  double flops() const { return flops_; }

 private:
  Rates rates_;
  double product_s_ = 0;
  double memory_s_ = 0;
  double flops_ = 0;
};

}  // namespace aplomb::plan

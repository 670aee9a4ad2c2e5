#include "plan/clock.h"

namespace aplomb::plan {

void Clock::run(double flops, int width, double bytes) {
  flops_ += flops;
  const double rate = width >= 4 ? rates_.flops_32bit : rates_.flops_16bit;
  const double product = rate > 0 ? flops / rate : 0;
  const double memory = rates_.bytes_per_s > 0 ? bytes / rates_.bytes_per_s : 0;
  (product > memory ? product_s_ : memory_s_) += product > memory ? product : memory;
}

}  // namespace aplomb::plan

#pragma once
/// FreshStart: tells a new run from a resumed one where steps go back (several runs in one file; a
/// step counter that starts again in every epoch). The loss decides: back near where it started, or
/// on where it was?

#include <cmath>
#include <cstdint>

#include "core/robust_window.h"

namespace aplomb::detectors {

class FreshStart {
 public:
  /// True when this loss (finite) is the first of a run that began from scratch; the caller then
  /// forgets the old run.
  bool update(std::uint16_t segment, double loss) {
    bool fresh = false;
    if (started_ && segment != segment_ && recent_.size() >= 4) {
      const double start = first_.median();
      const double last = recent_.median();
      fresh = start - last > 0.15 * std::fabs(start) &&
              std::fabs(loss - start) < std::fabs(loss - last);
      if (fresh) {
        first_.clear();
        recent_.clear();
      }
    }
    started_ = true;
    segment_ = segment;
    if (!first_.full()) first_.push(loss);
    recent_.push(loss);
    return fresh;
  }

 private:
  core::SortedWindow<3> first_;
  core::SortedWindow<8> recent_;
  bool started_ = false;
  std::uint16_t segment_ = 0;
};

}  // namespace aplomb::detectors

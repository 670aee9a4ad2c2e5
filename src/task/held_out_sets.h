#pragma once
/// Several sets of held-out data in one run: the validation set of each pass, and a test set scored
/// at the end. Both are said to be new to the model; where one metric tells them far apart, one of
/// the two is not what it is said to be.

#include <optional>
#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::task {

struct HeldOutGap {
  double validation = 0;  ///< last value of the metric there
  double test = 0;        ///< last value of the same metric on the test set
  std::string because;    ///< for people: `accuracy 0.907 on validation data, 0.532 on test data`
  std::vector<record::Origin> evidence;
};

/// The gap, where the test set is much worse: 0.12 of an accuracy, or 1.4 times the loss.
std::optional<HeldOutGap> held_out_gap(const record::Run& run);

}  // namespace aplomb::task

#pragma once
/// Healthy twins: runs in which nothing is wrong, each another than the healthy base in something
/// harmless: rate, schedule, batch, precision, a harder language, a noisy sample. Nothing in them
/// may be called worse than a warning.

#include <string>
#include <vector>

#include "train/lab/fault.h"

namespace aplomb::train::lab {

struct Twin {
  std::string name;  ///< `rate-x2`
  Runner run;
};
const std::vector<Twin>& twins();
/// Those among them that learn by reinforcement (faults_rl.cpp).
std::vector<Twin> rl_twins();

}  // namespace aplomb::train::lab

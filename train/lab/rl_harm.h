#pragma once
/// When harm is done in reinforcement learning.

#include "train/lab/fault.h"
#include "train/lab/harm.h"

namespace aplomb::train::lab {

/// The run's end, where its last rewards have gained less than `share` of what the twin's have: the
/// whole run is the price.
Harm reward_not_learnt(double share = 0.5);

}  // namespace aplomb::train::lab

#pragma once
/// A trial told on the terminal.

#include <string>

#include "train/lab/trial.h"

namespace aplomb::train::lab {

std::string trial_text(const Fault& fault, const Trial& trial);

}  // namespace aplomb::train::lab

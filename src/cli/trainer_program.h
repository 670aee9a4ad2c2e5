#pragma once
/// aplomb-train: a program of its own, since it alone links LibTorch. The commands that need it
/// become it.

#include <string>
#include <vector>

namespace aplomb::cli {

/// Replaces this process by the trainer with `words`. Returns only where that fails: an exit
/// status, with the reason (and how to get the trainer) said.
int become_trainer(std::vector<std::string> words);

/// Where the trainer stands; empty where it is not here.
std::string trainer_path();

}  // namespace aplomb::cli

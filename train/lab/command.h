#pragma once
/// `aplomb lab`: what its words say, and its answers on the terminal. aplomb-train runs it where
/// its first word is `lab`.

#include <string>
#include <vector>

namespace aplomb::train::lab {

/// Exit status: 0 all as it should be, 1 something is not (a fault that was missed, a floor that
/// was not reached), 2 it could not be run. `words` without `lab`.
int run_command(std::vector<std::string> words);

}  // namespace aplomb::train::lab

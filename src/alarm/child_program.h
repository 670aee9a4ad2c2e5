#pragma once
/// run_program(): another program, with a text as its input, for so long at most.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace aplomb::alarm {

struct Ran {
  int status = 0;  ///< as of waitpid
  std::string
      output;  ///< what it wrote to standard output and error, the first `most_output` bytes
};

/// `words`: the program (searched in PATH) and its arguments; `extra`: variables of its environment.
/// In a process group of its own, which is killed at the end of its time. Errors: not_found, internal,
/// not_readable (it did not end in time).
core::Result<Ran> run_program(const std::vector<std::string>& words, const std::string& input,
                              std::chrono::milliseconds limit,
                              const std::vector<std::pair<std::string, std::string>>& extra = {},
                              std::size_t most_output = std::size_t{64} << 10U);

}  // namespace aplomb::alarm

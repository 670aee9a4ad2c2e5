#pragma once
/// ConfinedProgram: another program, started with a socket on its standard input and output under
/// Policy::of_program() and limits. Standard error goes to /dev/null, the environment is what a
/// program needs to find its language and libraries (no tokens or keys), and where the kernel allows
/// it the program has a network of its own, without any interface.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::sandbox {

struct Command {
  std::vector<std::string> words;  ///< the first is an absolute path or one from the working folder
  std::uint64_t most_memory_bytes = 0;  ///< of address space; 0: no limit
  std::uint32_t most_cpu_s = 0;         ///< 0: no limit
  bool operator==(const Command&) const = default;
};

/// A program that was started; `id` is what end_program() takes.
struct Started {
  int id = -1;
};

/// By this process, or by its Keeper (keeper.h) where it may start none itself: then only what was
/// announced to that. `socket` stays the caller's. Errors: not_found, internal.
core::Result<Started> start_program(const Command& command, int socket);

/// Waits for its end (killed first where `kill`): the status as of waitpid().
int end_program(Started program, bool kill);

/// Who starts programs in place of this process.
class ProgramStarter {
 public:
  virtual ~ProgramStarter() = default;
  virtual core::Result<Started> start(const Command& command, int socket) = 0;
  virtual int end(Started program, bool kill) = 0;
};
void start_programs_through(ProgramStarter* starter);

}  // namespace aplomb::sandbox

#pragma once
/// RunNote: what `aplomb run` leaves in its folder for those who look on (`run.lock`): which process
/// has the run, since when, and how it ended. The page of the run reads it and asks through it to
/// stop the run; no reader takes it for evidence.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"

namespace aplomb::watch {

struct RunNote {
  pid_t pid = -1;                     ///< of `aplomb run`
  std::uint64_t process_started = 0;  ///< as of /proc/PID/stat: tells it from a later process
  double started = 0;                 ///< seconds since 1970
  double ended = 0;                   ///< 0: it has not
  int status = 0;                     ///< of the program, as of waitpid
  bool stopped = false;               ///< by us
};

/// The note of this process for a run that starts now.
RunNote new_note();
/// Errors: not_writable.
core::Result<void> write_note(const std::string& folder, const RunNote& note);
/// Nothing where there is none, or none that can be understood.
std::optional<RunNote> read_note(const std::string& folder);

/// Whether the process that wrote the note is there still.
bool is_alive(const RunNote& note);

/// Whether any process of this user writes the folder's output.log: the program of a run whose
/// `aplomb run` was killed goes on, and so does its log.
bool is_log_written(const std::string& folder);

/// Asks the process to end its program (SIGTERM, after the grace SIGKILL). A note may have been
/// written by anybody: the process is asked only if it has `folder`/output.log open to write, which no
/// other than the run's own does. Errors: bad_usage (it has ended), not_readable (it is not ours).
core::Result<void> ask_to_stop(const std::string& folder, const RunNote& note);

/// The value that comes with the SIGTERM of ask_to_stop(): other SIGTERMs are passed on to the
/// program as they are.
inline constexpr int k_stop_word = 0x41504c4d;

}  // namespace aplomb::watch

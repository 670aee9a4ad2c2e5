#pragma once
/// run_wrapped(): a program from its start to its end, its output passed on unchanged, kept in a
/// log and read while it comes.
///
/// It never harms the program: what cannot be logged, read or judged is told once and left out; the
/// program runs on. Signals that are sent to us are sent on (those of the terminal reach the
/// program by themselves); SIGWINCH sets its terminal's size.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/severity.h"
#include "detectors/symptom.h"

namespace aplomb::watch {

struct WrapOptions {
  std::vector<std::string> command;
  std::string folder;  ///< exists; takes output.log and hang-N.txt; empty where none could be made
  std::optional<core::Severity> stop_on;  ///< end the program at a symptom as severe as this
  bool stop_on_hang = false;
  /// No output and no step for so many times the median time between records is a hang, if it is
  /// hang_after as well.
  double hang_factor = 20;
  std::chrono::seconds hang_after{300};
  std::chrono::seconds grace{30};  ///< between SIGTERM and SIGKILL
  /// Told one line at a time, from the calling thread.
  std::function<void(std::string_view)> tell;
  /// For alarms, likewise; may be empty. A symptom that is new or has become worse; a hang, with what
  /// is known of it.
  std::function<void(const detectors::Symptom&)> seen;
  std::function<void(const std::string&)> hangs;
};

struct Ended {
  int status = 0;        ///< as of waitpid
  bool stopped = false;  ///< by us
  bool hung = false;
  bool log_is_whole = false;  ///< output.log has all that came
};

/// Errors: those of start_child().
core::Result<Ended> run_wrapped(const WrapOptions& options);

}  // namespace aplomb::watch

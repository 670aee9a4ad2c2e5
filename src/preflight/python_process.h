#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include "core/result.h"

namespace aplomb::preflight {

/// `python -I -c program`, with a socket on its standard input and output. In isolated mode neither
/// the environment nor the folder it runs in decides what is imported. Ended with the object.
///
///     PythonProcess process;
///     if (auto started = process.start(python, program); !started) ...
///     process.send(request);
///     while (process.receive(buffer, size, limit) > 0) ...
class PythonProcess {
 public:
  PythonProcess() = default;
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// Errors: not_found (no such interpreter), internal (no socket).
  core::Result<void> start(const std::string& python, const std::string& program);
  /// All of its input; false where the other end is gone.
  bool send(const std::string& input);
  /// 1 to `most` bytes of its output; 0 at the end, or where none came within `limit`: timed_out()
  /// tells.
  std::size_t receive(char* into, std::size_t most, std::chrono::milliseconds limit);
  bool timed_out() const { return timed_out_; }
  /// Waits for its end (killed first where `kill`). Whether there was no such interpreter after
  /// all, which some systems only tell here.
  bool end_missing(bool kill);

 private:
  int socket_ = -1;
  int child_ = -1;
  bool timed_out_ = false;
};

}  // namespace aplomb::preflight

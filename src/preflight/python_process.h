#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include "core/result.h"
#include "sandbox/program.h"

namespace aplomb::preflight {

/// What a program of Python may import beside its standard library.
enum class Packages {
  none,       ///< nothing: neither installed packages nor what they run at start (`-I -S`)
  installed,  ///< those of the interpreter (`-I`)
};

/// `python -I -B -c program`, with a socket on its standard input and output. In isolated mode
/// neither the environment nor the folder it runs in decides what is imported. It is confined
/// (sandbox/program.h): it reads files, and can neither write, connect nor start anything. Ended with
/// the object.
///
///     PythonProcess process;
///     if (auto started = process.start(python, program, Packages::none); !started) ...
///     process.send(request);
///     while (process.receive(buffer, size, limit) > 0) ...
class PythonProcess {
 public:
  PythonProcess() = default;
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// `python`: a path, or a name that is looked up once in the absolute folders of PATH.
  /// Errors: not_found (no such interpreter), internal (no socket).
  core::Result<void> start(const std::string& python, const std::string& program,
                           Packages packages);
  /// All of its input; false where the other end is gone.
  bool send(const std::string& input);
  /// 1 to `most` bytes of its output; 0 at the end, or where none came within `limit`: timed_out()
  /// tells.
  std::size_t receive(char* into, std::size_t most, std::chrono::milliseconds limit);
  bool timed_out() const { return timed_out_; }
  /// Waits for its end (killed first where `kill`). Whether there was no such interpreter after
  /// all, which a shim only tells here.
  bool end_missing(bool kill);

 private:
  int socket_ = -1;
  sandbox::Started child_;
  bool timed_out_ = false;
};

/// How it is started. Empty words where there is no such interpreter.
sandbox::Command python_command(const std::string& python, const std::string& program,
                                Packages packages);

/// The interpreter that a name stands for: the first file of that name in the absolute folders of
/// PATH that may be executed, found once. For Packages::none a binary comes before a script, which
/// (as the shims of version managers do) would let the folder it is started in decide what runs.
/// Empty where there is none; a path with a slash is itself.
std::string find_python(const std::string& name, Packages packages);

}  // namespace aplomb::preflight

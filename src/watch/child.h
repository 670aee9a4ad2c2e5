#pragma once
/// Child: a program that is started with its standard output and error led through us.
///
/// Where ours is a terminal the child gets one too (a pseudo-terminal that changes no byte), so
/// that its progress bars and colours stay; else a pipe. Standard input, working folder,
/// environment and process group are those that it would have without us: Ctrl-C and Ctrl-Z of the
/// terminal reach it as ever.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::watch {

/// A file descriptor that is closed with the object.
class Handle {
 public:
  explicit Handle(int number = -1) : number_(number) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Handle& operator=(Handle&& other) noexcept;
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

struct Child {
  pid_t pid = -1;
  Handle out;    ///< to read what it writes to standard output
  Handle error;  ///< to standard error; none where both go through one pseudo-terminal
};

/// Starts `command` (its program is searched in PATH) with no signal blocked. Errors: not_found (no
/// such program), not_readable (it may not be executed), internal (no process or descriptor).
core::Result<Child> start_child(const std::vector<std::string>& command);

/// Makes the child's terminals as wide as ours; for SIGWINCH.
void pass_on_window_size(const Child& child);

}  // namespace aplomb::watch

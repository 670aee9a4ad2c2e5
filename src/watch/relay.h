#pragma once
/// Relay: a small process that keeps the ends of a program's output open and takes over where this
/// process is killed: the program then writes on, into the same log and the same terminal, in place
/// of dying of a broken pipe. Until then it does nothing but wait.

#include <sys/types.h>

#include "watch/child.h"

namespace aplomb::watch {

class Relay {
 public:
  /// `log`: what all output is written to as well; -1: none. Where no process is to be had, nothing
  /// is kept.
  Relay(const Child& child, int log);
  /// Ends it: whoever lives to say so needs none.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Ends it before that: where nobody reads any more, the program is to be told so.
  void dismiss();
  pid_t pid() const { return pid_; }

 private:
  Handle alive_;
  pid_t pid_ = -1;
};

}  // namespace aplomb::watch

#pragma once
/// Sandbox: this process gives up what a reader does not need (policy.h), and keeps what was announced
/// through a small process beside it (keeper.h).
///
///     const auto sandbox = Sandbox::enter({{"report.html"}, {}, {}});
///     ... read hostile files; core::NewFile::beside("report.html") works, nothing else does ...
///
/// Once a process, before it has other threads. There is no way back: after the object has gone this
/// process can write nothing at all.

#include <memory>
#include <string>

#include "sandbox/keeper.h"
#include "sandbox/policy.h"

namespace aplomb::sandbox {

class Sandbox {
 public:
  /// Null where neither means is to be had, or no keeper could be started: then nothing has changed.
  static std::unique_ptr<Sandbox> enter(const Announced& may);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const InForce& in_force() const { return in_force_; }

 private:
  Sandbox(std::unique_ptr<Keeper> keeper, const InForce& in_force)
      : keeper_(std::move(keeper)), in_force_(in_force) {}

  std::unique_ptr<Keeper> keeper_;
  InForce in_force_;
};

/// What a reader would get here, and what it then could still do: tried in a process of its own.
struct Probe {
  InForce in_force;
  bool can_execute = true;
  bool can_connect = true;  ///< open a socket
  bool can_write = true;    ///< make a file in the system's folder for temporary files
};
Probe probe();

}  // namespace aplomb::sandbox

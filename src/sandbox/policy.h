#pragma once
/// Policy: what a process gives up for good, enforced by the kernel.
///
///     const Policy policy = Policy::of_reader();
///     const InForce what = policy.apply();
///
/// Two means, each enough by itself for most of it: a seccomp filter (Linux 3.17) that answers EPERM
/// to calls, and Landlock (5.13) that guards files. A process under either can no longer start a
/// program, open a socket, or open, make, rename or remove a file for writing; what it has open stays
/// open. Neither can be taken back, and both hold for all that descends from it.
///
/// A policy is made beforehand; apply() allocates nothing, so that it may stand between fork and exec.

#include <linux/filter.h>

#include <string>
#include <vector>

namespace aplomb::sandbox {

/// What the kernel has agreed to.
struct InForce {
  bool calls = false;        ///< the seccomp filter
  bool files = false;        ///< Landlock
  int landlock_version = 0;  ///< of the kernel; 0: none
  const char* why_no_calls = "";
  const char* why_no_files = "";
  bool any() const { return calls || files; }
};

class Policy {
 public:
  /// For what reads hostile input: no program, no connection, no write, no signal to others. Threads
  /// stay allowed.
  static Policy of_reader();
  /// The same for a program that is started for such a reader: it may be executed (Landlock: it and
  /// its loader, and nothing else), and has to be before apply() can hold.
  static Policy of_program(const std::string& path);
  ~Policy();
  Policy(Policy&& other) noexcept;
  Policy& operator=(Policy&&) = delete;

  /// For the calling thread and those that it starts; to be called before there are others.
  InForce apply() const noexcept;

 private:
  explicit Policy(const std::vector<std::string>& programs);

  std::vector<sock_filter> filter_;
  int ruleset_ = -1;
  int landlock_version_ = 0;
  const char* why_no_filter_ = "";
  const char* why_no_ruleset_ = "";
};

}  // namespace aplomb::sandbox

#pragma once
/// The sandbox of the commands that read (sandbox/sandbox.h): on unless --no-sandbox or
/// APLOMB_SANDBOX=off says otherwise. Where the kernel has neither means the command works as ever;
/// `aplomb doctor` says what is in force. Beside it --max-memory (core/memory_budget.h), which holds
/// with and without.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arguments/arguments.h"
#include "sandbox/sandbox.h"

namespace aplomb::cli {

class Confinement {
 public:
  void declare(const arguments::Verb& verb);

  /// To be called when the command line is known, standard input is kept and names are looked up,
  /// and before the first byte of an input is parsed. Empty outputs are left out.
  void enter(const std::vector<std::string>& outputs,
             const std::vector<std::string>& temporaries = {});

  /// Whether the environment or the option switched it off.
  bool is_off() const;

 private:
  bool no_sandbox_ = false;
  std::uint64_t max_memory_bytes_ = 0;  ///< 0: half of the machine
  std::unique_ptr<sandbox::Sandbox> sandbox_;
};

}  // namespace aplomb::cli

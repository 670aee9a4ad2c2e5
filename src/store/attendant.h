#pragma once
/// Attendant: a small process that has the store while this one reads hostile files and may write nothing
/// (sandbox/sandbox.h). Started before the sandbox is entered; it is told of one run, answers and
/// ends. What it is told is parsed strictly: this process may have been taken over by what it read.
///
///     auto attendant = Attendant::start(path, true);
///     ... enter the sandbox, diagnose ...
///     const auto told = attendant->tell(run);      // remembers it, says what was seen before

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "store/past_run.h"

namespace aplomb::store {

struct Told {
  std::optional<ReportSeenBefore> seen_before;
  std::string id;  ///< of the run, where it was to be remembered
};

class Attendant {
 public:
  /// Before this process has threads. Null where no process could be made.
  static std::unique_ptr<Attendant> start(const std::string& path, bool remembers);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Once. Errors: those of Store.
  core::Result<Told> tell(const PastRun& run);

 private:
  Attendant(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  pid_t pid_;
  int socket_;
};

/// The same in this process.
core::Result<Told> tell_store(const std::string& path, bool remembers, const PastRun& run);

}  // namespace aplomb::store

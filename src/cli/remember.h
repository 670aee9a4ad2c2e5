#pragma once
/// Remembering runs and looking what was seen before (store/store.h), for the commands that make a
/// report. The store is never in the way: what fails there is told once on standard error, and the
/// report stands without it.

#include <aplomb/report.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/attendant.h"
#include "store/past_run.h"
#include "watch/run_note.h"

namespace aplomb::cli {

class Remembering {
 public:
  /// Before the sandbox is entered: starts who has the store, where runs are kept there already or this
  /// one is to be.
  /// `place`: empty for the usual one.
  void begin(bool remembers, const std::string& place);
  /// When the report stands: adds what was seen before, and keeps the run where that was asked for.
  void finish(Report& report);

 private:
  bool remembers_ = false;
  std::unique_ptr<store::Attendant> attendant_;
};

/// Of a run that `aplomb run` has started.
struct WrappedRun {
  std::string folder;
  std::string store;   ///< empty for the usual one
  std::string script;  ///< empty where the command names none
  std::vector<std::string> command;
  double began = 0;
  double ended = 0;
  std::optional<int> status;  ///< as of waitpid; not known of a run that was lost
};

/// Keeps it, and adds to the report what was seen before; the id, or why not.
core::Result<std::string> remember_wrapped(Report& report, const WrappedRun& run);

/// A note beside the store that a run is under way, for the case that `aplomb run` itself is killed
/// (SIGKILL, power) and can keep nothing. Empty path: no note could be left, which is no reason not to
/// run.
std::string note_under_way(const WrappedRun& run, const watch::RunNote& note);
void forget_under_way(const std::string& path);

/// Keeps the runs whose `aplomb run` is gone without having kept them, from their folders: what it
/// had logged is there to the last line. `store`: of those that were to be kept there.
void take_in_lost_runs(const std::string& store);

}  // namespace aplomb::cli

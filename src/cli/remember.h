#pragma once
/// Remembering runs and looking what was seen before (store/store.h), for the commands that make a
/// report. The store is never in the way: what fails there is told once on standard error, and the
/// report stands without it.

#include <aplomb/report.h>

#include <memory>
#include <string>
#include <vector>

#include "store/attendant.h"
#include "store/past_run.h"

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
  int status = 0;  ///< as of waitpid
};

/// Keeps it, and adds to the report what was seen before; the id, or why not.
core::Result<std::string> remember_wrapped(Report& report, const WrappedRun& run);

}  // namespace aplomb::cli

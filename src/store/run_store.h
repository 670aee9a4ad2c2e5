#pragma once
/// RunStore: the runs that were remembered, wherever they are kept: in this user's file (store.h) or in a
/// database that a team shares (team_store.h).
///
///     auto store = open_store(place, Access::read);       // a path, or postgresql://...
///     for (const PastLine& each : *(*store)->list({"lr-too-high"}, 20)) ...

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/past_run.h"

namespace aplomb::store {

/// A run in one line.
struct PastLine {
  std::string id;
  double began = 0;
  std::string verdict;
  std::string name;
  std::string program;
  std::string cause;  ///< id, where one was put forward
  std::string headline;
  std::uint64_t steps = 0;
  Helped helped = Helped::unknown;
  std::size_t changed = 0;  ///< settings that differ from the run before it
};

enum class Access { read, write };

class RunStore {
 public:
  RunStore() = default;
  virtual ~RunStore() = default;

  /// Keeps the run, or what is new of one that is kept already; its id.
  virtual core::Result<std::string> add(PastRun run) = 0;
  /// The newest first; of those that hold all of the words where words are given.
  virtual core::Result<std::vector<PastLine>> list(const std::vector<std::string>& words,
                                                   std::size_t most) = 0;
  virtual core::Result<std::uint64_t> count() = 0;
  /// By its id, or the beginning of it that fits no other.
  virtual core::Result<PastRun> find(const std::string& id) = 0;
  /// Each run, oldest first, until `take` says no.
  virtual core::Result<void> each(const std::function<bool(const PastRun&)>& take) = 0;
  virtual core::Result<void> forget(const std::string& id) = 0;
  virtual core::Result<void> forget_all() = 0;
  /// The last run with the same first cause and mostly the same symptoms, one that a later run of the
  /// same program ended before others; nothing where no cause was put forward.
  virtual core::Result<std::optional<ReportSeenBefore>> seen_before(const PastRun& run) = 0;

 protected:
  RunStore(const RunStore&) = default;
  RunStore& operator=(const RunStore&) = default;
  RunStore(RunStore&&) = default;
  RunStore& operator=(RunStore&&) = default;
};

/// Errors: those of Store::open(); unsupported, where this program was built without libpq.
core::Result<std::unique_ptr<RunStore>> open_store(const std::string& place, Access access);

}  // namespace aplomb::store

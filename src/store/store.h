#pragma once
/// Store: the runs that a user's aplomb has seen, in one SQLite file for all of its processes.
///
///     auto store = Store::open(default_path(), Store::Access::write);
///     if (!store) { tell store.error().text; go on without }
///     const auto id = store->add(run);          // against the run of the same program before it
///     const auto seen = store->seen_before(run);
///
/// Several processes may write at once; each waits its turn for up to 5 seconds. Errors of every call:
/// not_found (no such file, no such run), not_readable, not_writable, bad_format (another program's
/// file, a damaged one), unsupported (of a newer version), bad_usage (an id that fits several). Not
/// for several threads.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database.h"
#include "store/past_run.h"
#include "store/run_store.h"

namespace aplomb::store {

class Store final : public RunStore {
 public:
  using Access = store::Access;

  /// With Access::write the file and its folder are made, for this user alone, where they are missing.
  static core::Result<Store> open(const std::string& path, Access access);

  /// Keeps the run, or what is new of one that is kept already; its id.
  core::Result<std::string> add(PastRun run) override;

  /// The newest first; of those that hold all of the words (as a word of theirs begins) where words are
  /// given.
  core::Result<std::vector<PastLine>> list(const std::vector<std::string>& words,
                                           std::size_t most) override;
  core::Result<std::uint64_t> count() override;
  /// By its id, or the beginning of it that fits no other.
  core::Result<PastRun> find(const std::string& id) override;
  /// Each run, oldest first, until `take` says no.
  core::Result<void> each(const std::function<bool(const PastRun&)>& take) override;

  core::Result<void> forget(const std::string& id) override;
  core::Result<void> forget_all() override;

  /// The last run with the same first cause and mostly the same symptoms, one that a later run of the
  /// same program ended before others; nothing where no cause was put forward.
  core::Result<std::optional<ReportSeenBefore>> seen_before(const PastRun& run) override;

  const std::string& path() const { return path_; }

 private:
  Store(Database database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}

  template <class Work>
  auto guarded(Work work) -> core::Result<decltype(work())>;

  std::string host() const;
  /// The number of the run that this one is told of again; 0 where it is new.
  std::int64_t same_run(const PastRun& run) const;
  void compare_with_previous(PastRun& run, std::int64_t own) const;
  void insert(const PastRun& run, std::int64_t number);
  enum class Curves { with, without };
  PastRun read(std::int64_t number, Curves curves = Curves::with) const;
  std::int64_t number_of(const std::string& id) const;
  void remove(std::int64_t number);

  Database database_;
  std::string path_;
};

}  // namespace aplomb::store

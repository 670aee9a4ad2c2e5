#pragma once
/// Follower: the runs below some paths, read as they grow and judged anew now and then.
///
///     EventLog events;
///     Follower follower({.paths = {"out/"}}, events);
///     follower.start();
///     follower.run_text(id)          // JSON of docs/design/0009-live-page.md, from any thread
///
/// One thread looks at the files (a stat each, ten times a second; rarer for those that rest) and
/// tells new points and lines; another judges, so often that it takes one part in k_rest of a core.
/// Nothing is written, and no lock is taken on a file. Checkpoints are listed, not opened: they are
/// large, and half written while a run trains.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "live/cost.h"
#include "live/event_log.h"

namespace aplomb::live {

struct FollowOptions {
  std::vector<std::string> paths;
  bool may_stop = false;  ///< runs that `aplomb run` has started may be ended from the page
  std::optional<Price> price = std::nullopt;
  std::string python = "python3";
  std::chrono::milliseconds tick{100};
  std::chrono::milliseconds search{2000};  ///< between two looks for new files, at least
  /// A run that has not grown for so long, and for k_silent_factor times its median interval
  /// between records, is silent: what `aplomb run` calls a hang.
  std::chrono::seconds silent_after{300};
};

/// A run in words, for those who tell of it elsewhere.
struct Glance {
  std::string id;
  std::string name;
  std::string path;
  std::string state;     ///< running, silent, ended, failed, stopped, unknown
  std::string standing;  ///< as in aplomb.report/1
  std::string cause;     ///< id of the first cause; empty where none is told
  std::string headline;
  std::string fix;
  std::optional<std::int64_t> step;
};

class Follower {
 public:
  /// Judging takes one part of the time in so many at most: with all else a hundredth of a core.
  static constexpr int k_rest = 150;
  static constexpr double k_silent_factor = 20;

  Follower(FollowOptions options, EventLog& events);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void start();
  /// Ends both threads; what is known stays.
  void stop();
  /// Reads and judges what is there now and returns; instead of start(), for tests and for one look.
  void settle();

  /// The list of summaries; a JSON array.
  std::string summaries_text() const;
  /// Nothing where there is no such run (or series).
  std::optional<std::string> run_text(const std::string& id) const;
  std::optional<std::string> series_text(const std::string& id, const std::string& name,
                                         std::optional<std::int64_t> from,
                                         std::optional<std::int64_t> to, std::size_t points) const;
  /// Errors: not_found (no such run), bad_usage (it has ended, or may not be stopped), not_readable.
  core::Result<void> stop_run(const std::string& id) const;
  std::vector<Glance> glances() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace aplomb::live

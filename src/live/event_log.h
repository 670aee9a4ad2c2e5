#pragma once
/// EventLog: what happened, in order, for viewers that come, go and come back. Bounded: a viewer
/// that was away for longer than the log reaches back is told to fetch all anew.
///
///     log.add("points", "r1", json);
///     EventLog::Batch next = log.after(last_id, 10s);     // waits; next.lost: fetch all anew
///
/// Thread-safe. Ids are `<boot>-<n>`: those of another log (the server was started again) are told
/// apart from ours.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::live {

struct Happening {
  std::uint64_t number = 0;
  std::string type;  ///< `runs`, `points`, `marks`, `log`, `report`, `gone`
  std::string run;   ///< id; empty: of no run in particular
  std::string data;  ///< JSON of one line
};

class EventLog {
 public:
  static constexpr std::size_t k_most_events = 4096;
  static constexpr std::size_t k_most_bytes = std::size_t{4} << 20U;

  EventLog();

  void add(std::string type, std::string run, std::string data);

  struct Batch {
    std::vector<std::shared_ptr<const Happening>> events;
    bool lost = false;  ///< what came after `number` is gone in part
    bool closed = false;
  };
  /// What came after `number`; waits for it as long as `patience`.
  Batch after(std::uint64_t number, std::chrono::milliseconds patience) const;
  std::uint64_t newest() const;

  std::string id_of(std::uint64_t number) const;
  /// The number of an id of this log; nothing of any other text.
  std::optional<std::uint64_t> number_of(std::string_view id) const;

  /// Wakes all that wait; from then on nobody waits.
  void close();

 private:
  std::string boot_;
  mutable std::mutex mutex_;
  mutable std::condition_variable wake_;
  std::deque<std::shared_ptr<const Happening>> events_;
  std::uint64_t newest_ = 0;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace aplomb::live

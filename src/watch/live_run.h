#pragma once
/// LiveRun: the output of a program that still runs, read by the reader of text logs and judged by
/// the detectors as it comes. The same reader and detectors as in `diagnose`: what is said live is
/// said of the log afterwards, too, unless a detector takes it back when it has seen more.
///
///     LiveRun live;
///     live.feed(bytes);                          // from the thread that passes the output on
///     for (const Symptom& each : live.fresh())   // now and then
///     live.finish();
///
/// Reading goes on in a thread of its own. feed() never waits for it: where k_most_waiting bytes are
/// unread, whole lines are left out until half of them are read (the log on disk is whole), and
/// left_out_bytes() says how much. A fault in reader or detectors ends the live reading and nothing
/// else; gave_up() says which.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "detectors/symptom.h"

namespace aplomb::watch {

class LiveRun {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t k_most_waiting = std::size_t{64} << 20U;

  /// `least`: weaker symptoms are not told, but for the gate of the first ten records.
  explicit LiveRun(core::Severity least);
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  void feed(std::string_view bytes);
  /// The program has ended: reads what is left, looks once more. Waits for that.
  void finish();

  /// Symptoms that are new, or have become worse, since the last call.
  std::vector<detectors::Symptom> fresh();
  /// When a new step was last seen, and the median time between two records of metrics; nothing
  /// before k_least_records.
  struct Pace {
    Clock::time_point last;
    std::chrono::duration<double> median{};
  };
  static constexpr std::size_t k_least_records = 5;
  std::optional<Pace> pace();
  std::string gave_up();
  std::uint64_t left_out_bytes();

 private:
  class Stream;
  void work();
  bool leaves_out(std::string_view& bytes);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool leaving_out_ = false;
  std::uint64_t left_out_bytes_ = 0;
  bool closed_ = false;
  std::string gave_up_;
  std::vector<detectors::Symptom> fresh_;
  std::vector<double> intervals_;  ///< a ring
  std::size_t records_ = 0;
  Clock::time_point last_record_;
  core::Severity least_;
  std::thread thread_;
};

}  // namespace aplomb::watch

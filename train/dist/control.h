#pragma once
/// Control: what the ranks tell each other beside numbers: that one cannot go on and why, and that
/// the run is over. A star of connections, rank 0 in its middle, with a thread that listens.
///
/// A rank fails: it tells rank 0 its reason, or just vanishes, which closes its connection. Rank 0
/// learns of it at once (`lost`, and `on_lost` breaks off what waits for data), tells people, and
/// then tells all ranks that the run has ended. Without rank 0 each rank ends by itself.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "train/dist/socket.h"

namespace aplomb::train::dist {

struct ControlHooks {
  /// Called once, from the listening thread, as the run is found to be lost: breaks off what waits.
  std::function<void()> on_lost = [] {};
  /// Called from the same thread where the rank has not noticed for `patience` (a long
  /// computation): ends the process, or does nothing.
  std::function<void(const std::string& reason)> on_stuck = [](const std::string&) {};
  std::chrono::milliseconds patience = std::chrono::seconds(10);
};

/// How the run ended, as rank 0 says.
struct End {
  int status = 0;
  std::string reason;  ///< of a run that failed; empty: it went well
};

class Control {
 public:
  /// `links`: rank 0 one a rank (the first closed), the others one, to rank 0.
  Control(int rank, std::vector<Socket> links, ControlHooks hooks);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  bool is_lost() const { return lost_flag_; }
  /// Why the run cannot go on; waits for it at most `patience`, for a broken connection is noticed
  /// before its reason arrives. Empty: nothing is known.
  std::string lost(std::chrono::milliseconds patience);
  /// This rank's own thread has noticed and winds up: on_stuck is not called any more.
  void settle() { settled_ = true; }

  /// Rank 0: the run is over; with a reason it has failed, and is lost for all. Waits until all
  /// ranks have heard it, for `patience` at most.
  void end(int status, const std::string& reason);
  /// Other ranks: cannot go on, for `reason`. True where rank 0 heard it and ended the run.
  bool fail(const std::string& reason);
  /// Other ranks: waits for the end. Nothing where rank 0 vanished.
  std::optional<End> wait_end();

 private:
  struct Peer {
    int rank = 0;
    Socket link;
    std::string unread;
    bool open = false;
  };
  void listen();
  void read(Peer& peer);
  bool take_message(Peer& peer);
  void vanished(Peer& peer);
  void lose(std::string reason);
  bool has_peers();

  int rank_;
  ControlHooks hooks_;
  std::vector<Peer> peers_;
  std::atomic<bool> lost_flag_ = false, settled_ = false, over_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::string lost_;
  std::chrono::steady_clock::time_point lost_at_;
  bool told_stuck_ = false;
  std::optional<End> end_;
  Socket wake_, woken_;  // a pair: closing one ends the thread
  std::thread thread_;
};

}  // namespace aplomb::train::dist

#pragma once
/// AttentionLadder: `--attention auto`. A run begins with the safest attention and climbs to faster
/// ones, each for so many steps; at the first bad step of a rung it goes back to the one before and
/// stays there. Which rung a step runs on depends on steps and verdicts alone, never on the clock,
/// so that a resumed run takes the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aplomb::train::loop {

class AttentionLadder {
 public:
  /// `rungs`: safest first; `steps`: how long each is tried.
  AttentionLadder(std::vector<std::string> rungs, std::int64_t steps)
      : rungs_(std::move(rungs)), steps_(steps), settled_(rungs_.size() < 2) {}

  struct Move {
    std::string to;    ///< rung in force from the next step on; empty: it stays
    std::string said;  ///< what to say about it
  };
  /// After each step; `good`: the guard let it be taken.
  Move note(bool good, std::int64_t tokens, double seconds);

  const std::string& rung() const { return rungs_[at_]; }
  bool empty() const { return rungs_.empty(); }

  struct State {
    std::string rung;
    std::int64_t steps_on_it = 0;
    bool settled = false;
    bool operator==(const State&) const = default;
  };
  State state() const;
  /// False where this device has no such rung.
  bool restore(const State& state);

 private:
  void enter(std::size_t rung);
  double rate() const { return seconds_ > 0 ? tokens_ / seconds_ : 0; }
  std::string faster() const;

  std::vector<std::string> rungs_;
  std::int64_t steps_;
  std::size_t at_ = 0;
  std::int64_t on_it_ = 0;
  bool settled_;
  double tokens_ = 0;  // on this rung, without its first step
  double seconds_ = 0;
  double rate_below_ = 0;  // tokens/s of the rung before; 0: unknown
};

}  // namespace aplomb::train::loop

#pragma once
/// AttentionLadder: `--attention auto`. A run begins with the safest attention and climbs to faster
/// ones, each for so many steps; at the first bad step of a rung, and at the end of one that was
/// measured slower than the one before, it goes back and stays there. The rung is kept in checkpoints,
/// so that a resumed run goes on with the same. Among ranks, whose clocks differ, only steps and
/// verdicts decide, so that all of them take the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aplomb::train::loop {

class AttentionLadder {
 public:
  /// `rungs`: safest first; `steps`: how long each is tried; `by_speed`: slower ones are left.
  AttentionLadder(std::vector<std::string> rungs, std::int64_t steps, bool by_speed)
      : rungs_(std::move(rungs)), steps_(steps), settled_(rungs_.size() < 2), by_speed_(by_speed) {}

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
  bool is_slower() const;

  std::vector<std::string> rungs_;
  std::int64_t steps_;
  std::size_t at_ = 0;
  std::int64_t on_it_ = 0;
  bool settled_;
  bool by_speed_;
  double tokens_ = 0;  // on this rung, without its first step
  double seconds_ = 0;
  double rate_below_ = 0;  // tokens/s of the rung before; 0: unknown
};

}  // namespace aplomb::train::loop

#include "train/loop/attention_ladder.h"

#include <fmt/format.h>

#include <algorithm>

namespace aplomb::train::loop {
namespace {

/// Of the rung before. A judgement: a tenth is more than means over a hundred steps differ by where
/// nobody else computes, and a rung that is left wrongly costs speed, never the run.
constexpr double k_slower = 0.9;

}  // namespace

AttentionLadder::Move AttentionLadder::note(bool good, std::int64_t tokens, double seconds) {
  if (settled_) return {};
  if (!good && at_ > 0) {
    const std::string from = rung();
    const std::int64_t after = on_it_ + 1;
    enter(at_ - 1);
    settled_ = true;
    return {rung(), fmt::format("attention: a bad step on {} after {} steps: back to {}, for good",
                                from, after, rung())};
  }
  if (on_it_++ > 0) {  // the first one warms caches up
    tokens_ += static_cast<double>(tokens);
    seconds_ += seconds;
  }
  if (on_it_ < steps_) return {};
  const std::string healthy =
      fmt::format("attention: {} steps on {} without a bad one{}", on_it_, rung(), faster());
  if (is_slower()) {
    const std::string said = healthy + fmt::format("; back to {}, for good", rungs_[at_ - 1]);
    enter(at_ - 1);
    settled_ = true;
    return {rung(), said};
  }
  if (at_ + 1 == rungs_.size()) {
    settled_ = true;
    return {{}, healthy + "; the last rung"};
  }
  rate_below_ = rate();
  enter(at_ + 1);
  return {rung(), healthy + "; now " + rung()};
}

std::string AttentionLadder::faster() const {
  if (rate_below_ <= 0 || rate() <= 0) return {};
  return fmt::format(", {:.2f}x the tokens/s of the rung before", rate() / rate_below_);
}

bool AttentionLadder::is_slower() const {
  return by_speed_ && rate_below_ > 0 && rate() > 0 && rate() < k_slower * rate_below_;
}

void AttentionLadder::enter(std::size_t rung) {
  at_ = rung;
  on_it_ = 0;
  tokens_ = seconds_ = 0;
}

AttentionLadder::State AttentionLadder::state() const {
  return {rungs_.empty() ? std::string() : rung(), on_it_, settled_};
}

bool AttentionLadder::restore(const State& state) {
  const auto found = std::find(rungs_.begin(), rungs_.end(), state.rung);
  if (found == rungs_.end()) return rungs_.empty() && state.rung.empty();
  enter(static_cast<std::size_t>(found - rungs_.begin()));
  on_it_ = state.steps_on_it;
  settled_ = state.settled;
  return true;
}

}  // namespace aplomb::train::loop

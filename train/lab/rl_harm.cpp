#include "train/lab/rl_harm.h"

#include <algorithm>
#include <vector>

#include "core/median.h"

namespace aplomb::train::lab {
namespace {

double median(std::vector<double> of) { return of.empty() ? 0 : core::upper_median(std::move(of)); }

/// Median of the last rewards less that of the first.
double gain(const Trace& trace) {
  const auto rewards = trace.series("reward");
  const std::size_t some = std::min<std::size_t>(10, rewards.size() / 2);
  std::vector<double> first, last;
  for (std::size_t i = 0; i < some; ++i) {
    first.push_back(rewards[i].second);
    last.push_back(rewards[rewards.size() - 1 - i].second);
  }
  return median(last) - median(first);
}

}  // namespace

Harm reward_not_learnt(double share) {
  return {"the run ends with less than half of the reward that its twin has gained",
          [share](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            if (gain(run) >= share * gain(twin)) return std::nullopt;
            return run.steps;
          }};
}

}  // namespace aplomb::train::lab

#include "diagnosis/experiments.h"

#include <algorithm>

namespace aplomb::diagnosis {
namespace {

/// Above this no further test is worth the user's time: the remedy is itself the test.
constexpr double k_certain = 0.9;

bool names(const Experiment& experiment, const std::string& id) {
  return std::find(experiment.separates.begin(), experiment.separates.end(), id) !=
         experiment.separates.end();
}

/// Of the experiments of the causes `a` and `b`, the cheapest that names both.
const PricedExperiment* cheapest_between(const CauseBook& book, const std::string& a,
                                         const std::string& b) {
  const PricedExperiment* best = nullptr;
  for (const std::string& owner : {a, b}) {
    const Cause* cause = book.find(owner);
    if (cause == nullptr) continue;
    for (const PricedExperiment& priced : cause->experiments) {
      if (!names(priced.experiment, a) || !names(priced.experiment, b)) continue;
      if (best == nullptr || priced.cost < best->cost) best = &priced;
    }
  }
  return best;
}

}  // namespace

std::vector<Experiment> choose_experiments(const CauseBook& book, const FactTable& facts,
                                           const Ranking& ranking, Standing standing,
                                           std::size_t most) {
  std::vector<Experiment> chosen;
  const auto add = [&](const Experiment& experiment) {
    const bool had = std::any_of(chosen.begin(), chosen.end(), [&](const Experiment& other) {
      return other.text == experiment.text;
    });
    if (!had && chosen.size() < most) chosen.push_back(experiment);
  };
  const bool certain = !ranking.causes.empty() && ranking.causes.front().probability >= k_certain;
  if (standing == Standing::healthy) return chosen;
  if (!ranking.causes.empty() && !certain) {
    const std::string& first = ranking.causes.front().id;
    for (std::size_t i = 1; i < std::min<std::size_t>(ranking.causes.size(), 4); ++i) {
      if (const auto* between = cheapest_between(book, first, ranking.causes[i].id)) {
        add(between->experiment);
        break;
      }
    }
    const Cause* cause = book.find(first);
    if (chosen.empty() && cause != nullptr && !cause->experiments.empty()) {
      add(cause->experiments.front().experiment);
    }
  }
  if (certain) return chosen;
  for (const NextStep& next : book.next_steps) {
    if (next.when.holds(facts) == Truth::yes) add(next.step);
  }
  return chosen;
}

}  // namespace aplomb::diagnosis

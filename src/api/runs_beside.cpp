#include "api/runs_beside.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "compare/settings_diff.h"

namespace aplomb::api {
namespace {

/// A run whose loss has no value from some step on.
struct Lost {
  record::Run* run = nullptr;
  std::int64_t step = 0;
};

std::optional<std::int64_t> lost_at(const std::vector<detectors::Symptom>& symptoms) {
  for (const char* id : {"loss.nonfinite", "grad_norm.nonfinite"}) {
    const auto found = std::find_if(symptoms.begin(), symptoms.end(),
                                    [&](const auto& each) { return each.id == id; });
    if (found != symptoms.end()) return found->first_step;
  }
  return std::nullopt;
}

enum class Likeness { other, equal, other_seed };

/// Runs whose training differs by nothing that both state; a seed of another value is told apart.
Likeness likeness_of(const record::Run& one, const record::Run& other) {
  Likeness found = Likeness::equal;
  for (const compare::SettingDifference& each : compare::settings_diff(one, other)) {
    if (!each.a || !each.b) continue;
    if (each.reach == compare::Reach::training) return Likeness::other;
    if (each.reach == compare::Reach::seed) found = Likeness::other_seed;
  }
  return found;
}

void tell(record::Run& run, const char* name, const std::string& because) {
  run.facts.push_back({name, core::Value(true), because, {}});
}

/// Of the runs that are like this one: their steps, its own among them.
std::vector<std::int64_t> steps_of(const Lost& own, const std::vector<Lost>& lost, Likeness like) {
  std::vector<std::int64_t> steps;
  for (const Lost& each : lost) {
    if (&each != &own && likeness_of(*own.run, *each.run) == like) steps.push_back(each.step);
  }
  if (!steps.empty()) steps.push_back(own.step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

void judge(const Lost& own, const std::vector<Lost>& lost) {
  const std::vector<std::int64_t> equal = steps_of(own, lost, Likeness::equal);
  const std::vector<std::int64_t> seeds = steps_of(own, lost, Likeness::other_seed);
  const auto all_one = [](const auto& steps) { return steps.front() == steps.back(); };
  const auto all_apart = [](const auto& steps) {
    return std::adjacent_find(steps.begin(), steps.end()) == steps.end();
  };
  if (!equal.empty() && all_one(equal)) {
    tell(*own.run, "beside.nan_same_step",
         fmt::format("{} runs that are told the same end in NaN at one step, {}", equal.size(),
                     equal.front()));
  } else if (!equal.empty() && all_apart(equal)) {
    tell(*own.run, "beside.nan_other_steps",
         fmt::format("{} runs that are told the same end in NaN at different steps, {}",
                     equal.size(), fmt::join(equal, ", ")));
  }
  if (!seeds.empty() && all_one(seeds)) {
    tell(*own.run, "beside.nan_any_order",
         fmt::format("with {} seeds the NaN comes at one step, {}", seeds.size(), seeds.front()));
  }
}

}  // namespace

void add_runs_beside(std::vector<record::Run>& runs,
                     const std::vector<std::vector<detectors::Symptom>>& symptoms) {
  std::vector<Lost> lost;
  for (std::size_t i = 0; i < runs.size() && lost.size() < k_most_beside; ++i) {
    if (const auto step = lost_at(symptoms[i])) lost.push_back({&runs[i], *step});
  }
  if (lost.size() < 2) return;
  for (const Lost& each : lost) judge(each, lost);
}

}  // namespace aplomb::api

/// guard_bench: what the guard costs a step, and how its spike rules stand against the published
/// ones on the curves of tests/guard/spike_curves.h.
///
///     build/bench/bench/guard_bench

#include <aplomb/guard.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "guard/spike_curves.h"

namespace {

using namespace aplomb;
using namespace aplomb::test;

constexpr std::uint64_t k_seeds = 200;

struct Peer {
  const char* name;
  SpikeRule (*make)();
};

std::string cell(std::size_t curve, const Peer& peer) {
  int hits = 0;
  int alarms = 0;
  std::vector<int> late;
  bool wrong = false;
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    const Curve made = spike_curves(seed)[curve];
    wrong = made.onset >= 0;
    const Score result = score(made, peer.make());
    hits += result.hit ? 1 : 0;
    alarms += result.false_alarms;
    if (result.hit) late.push_back(result.late);
  }
  const double each = static_cast<double>(alarms) / k_seeds;
  if (!wrong) return fmt::format("{:.2f} false", each);
  if (late.empty()) return fmt::format("miss, {:.1f} false", each);
  std::nth_element(late.begin(), late.begin() + static_cast<long>(late.size() / 2), late.end());
  return fmt::format("{} % +{}, {:.1f} false", 100 * hits / static_cast<int>(k_seeds),
                     late[late.size() / 2], each);
}

void compare_rules() {
  const Peer peers[] = {{"guard, as loss", [] { return guard_rule(); }},
                        {"guard, as norm", [] { return guard_norm_rule(); }},
                        {"OLMo-core 6 sigma", olmo_rule},
                        {"ZClip", zclip_rule}};
  fmt::print("{} seeds a curve: share hit, median steps late, acts elsewhere a run\n", k_seeds);
  fmt::print("{:<38}", "");
  for (const Peer& peer : peers) fmt::print("{:<24}", peer.name);
  fmt::print("\n");
  const auto curves = spike_curves(1);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    fmt::print("{:<38}", curves[i].name);
    for (const Peer& peer : peers) fmt::print("{:<24}", cell(i, peer));
    fmt::print("\n");
  }
}

/// Heavy-tailed losses are healthy: what do they cost?
void tail_of_noise() {
  for (const double scale : {0.05, 0.1, 0.2}) {
    int acts = 0;
    for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
      std::mt19937_64 engine(seed);
      std::student_t_distribution<double> t3(3);
      const SpikeRule rule = guard_rule();
      for (int i = 0; i < 3000; ++i) acts += rule(2 + scale * t3(engine)) ? 1 : 0;
    }
    fmt::print("2 + {} t3: {:.3f} steps acted on in 3000\n", scale,
               static_cast<double>(acts) / k_seeds);
  }
}

void time_steps(std::size_t group_count) {
  constexpr int k_steps = 20000;
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  std::vector<double> losses(k_steps);
  for (double& loss : losses) loss = 2 + 0.05 * normal(engine);
  std::vector<GuardGroup> groups(group_count);
  std::vector<double> ns;
  for (int round = 0; round < 9; ++round) {
    Guard guard({.max_norm = 1.0});
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < k_steps; ++i) {
      for (GuardGroup& group : groups)
        group.sum_squares = losses[static_cast<std::size_t>(i)] / static_cast<double>(group_count);
      guard.step(
          {.step = i, .loss = losses[static_cast<std::size_t>(i)], .lr = 1e-3, .groups = groups});
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    ns.push_back(took.count() / k_steps);
  }
  std::sort(ns.begin(), ns.end());
  fmt::print("one step with {} groups: {:.0f} ns (best of 9), {:.0f} ns (median)\n", group_count,
             ns.front(), ns[4]);
}

}  // namespace

int main() {
  compare_rules();
  tail_of_noise();
  for (const std::size_t groups : {1U, 16U, 300U}) time_steps(groups);
}

#include "compare/metrics.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "compare/curve.h"

namespace aplomb::compare {
namespace {

constexpr std::array k_order = {Role::eval_loss, Role::eval_accuracy, Role::reward,
                                Role::loss,      Role::accuracy,      Role::perplexity};

/// Accuracies are logged as shares or in per cent; which one, only their size tells.
bool is_percent(const Series& series) {
  constexpr double k_most_share = 1.0 + 1e-6;
  return series.max > k_most_share;
}

std::string refusal_of(const Series& a, const Series& b) {
  const bool epochs_a = a.step_kind == StepKind::epoch;
  const bool epochs_b = b.step_kind == StepKind::epoch;
  if (epochs_a != epochs_b)
    return std::string("A is logged by ") + (epochs_a ? "epoch" : "step") + ", B by " +
           (epochs_b ? "epoch" : "step");
  const bool share = a.role == Role::accuracy || a.role == Role::eval_accuracy;
  if (share && is_percent(a) != is_percent(b))
    return std::string("different units: A is ") + (is_percent(a) ? "in per cent" : "a share") +
           ", B " + (is_percent(b) ? "in per cent" : "a share");
  return {};
}

}  // namespace

bool is_level(Role role) {
  constexpr std::array k_levels = {Role::step_time_s,      Role::data_time_s, Role::tokens_per_s,
                                   Role::samples_per_s,    Role::mfu_frac,    Role::memory_bytes,
                                   Role::host_memory_bytes};
  return std::find(k_levels.begin(), k_levels.end(), role) != k_levels.end();
}

bool is_position(const Series& series) {
  return series.role == Role::epoch || series.name == k_tokens_seen;
}

std::vector<Common> common_metrics(const Run& a, const Run& b) {
  std::vector<Common> out;
  std::set<std::string> seen;
  const bool rewarded_a = a.primary(Role::reward) != nullptr;
  const bool rewarded_b = b.primary(Role::reward) != nullptr;
  for (const Series& each : a.series) {
    if (is_level(each.role) || is_position(each) || !seen.insert(each.name).second) continue;
    Common common{a.find(each.name), b.find(each.name), StepKind::explicit_, {}};
    if (common.a == nullptr || common.b == nullptr) continue;
    const bool ordinal =
        common.a->step_kind == StepKind::ordinal || common.b->step_kind == StepKind::ordinal;
    common.kind = ordinal ? StepKind::ordinal : common.a->step_kind;
    common.refusal = refusal_of(*common.a, *common.b);
    if (common.a->role == Role::loss && rewarded_a != rewarded_b)
      common.refusal = std::string("different units: only ") + (rewarded_a ? "A" : "B") +
                       " trains on a reward, and the loss of such a run is a surrogate";
    out.push_back(std::move(common));
  }
  return out;
}

int better_of(Role role) {
  switch (role) {
    case Role::loss:
    case Role::eval_loss:
    case Role::perplexity:
    case Role::value_loss:
      return -1;
    case Role::accuracy:
    case Role::eval_accuracy:
    case Role::reward:
      return 1;
    default:
      return 0;
  }
}

bool is_outcome(Role role, bool has_reward) {
  if (role == Role::loss && has_reward) return false;
  return std::find(k_order.begin(), k_order.end(), role) != k_order.end();
}

bool is_held_out(Role role) {
  return role == Role::eval_loss || role == Role::eval_accuracy || role == Role::eval_metric ||
         role == Role::eval_component;
}

int order_of(Role role) {
  const auto* const at = std::find(k_order.begin(), k_order.end(), role);
  return static_cast<int>(at - k_order.begin()) +
         (at == k_order.end() && role == Role::other ? 1 : 0);
}

}  // namespace aplomb::compare

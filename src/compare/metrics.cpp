#include "compare/metrics.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "compare/curve.h"

namespace aplomb::compare {
namespace {

constexpr std::array k_order = {record::Role::eval_loss, record::Role::eval_accuracy,
                                record::Role::reward,    record::Role::loss,
                                record::Role::accuracy,  record::Role::perplexity};

/// Accuracies are logged as shares or in per cent; which one, only their size tells.
bool is_percent(const record::Series& series) {
  constexpr double k_most_share = 1.0 + 1e-6;
  return series.max > k_most_share;
}

std::string refusal_of(const record::Series& a, const record::Series& b) {
  const bool epochs_a = a.step_kind == record::StepKind::epoch;
  const bool epochs_b = b.step_kind == record::StepKind::epoch;
  if (epochs_a != epochs_b)
    return std::string("A is logged by ") + (epochs_a ? "epoch" : "step") + ", B by " +
           (epochs_b ? "epoch" : "step");
  const bool share = a.role == record::Role::accuracy || a.role == record::Role::eval_accuracy;
  if (share && is_percent(a) != is_percent(b))
    return std::string("different units: A is ") + (is_percent(a) ? "in per cent" : "a share") +
           ", B " + (is_percent(b) ? "in per cent" : "a share");
  return {};
}

}  // namespace

bool is_level(record::Role role) {
  constexpr std::array k_levels = {record::Role::step_time_s,      record::Role::data_time_s,
                                   record::Role::tokens_per_s,     record::Role::samples_per_s,
                                   record::Role::mfu_frac,         record::Role::memory_bytes,
                                   record::Role::host_memory_bytes};
  return std::find(k_levels.begin(), k_levels.end(), role) != k_levels.end();
}

bool is_position(const record::Series& series) {
  return series.role == record::Role::epoch || series.name == k_tokens_seen;
}

std::vector<Common> common_metrics(const record::Run& a, const record::Run& b) {
  std::vector<Common> out;
  std::set<std::string> seen;
  const bool rewarded_a = a.primary(record::Role::reward) != nullptr;
  const bool rewarded_b = b.primary(record::Role::reward) != nullptr;
  for (const record::Series& each : a.series) {
    if (is_level(each.role) || is_position(each) || !seen.insert(each.name).second) continue;
    Common common{a.find(each.name), b.find(each.name), record::StepKind::explicit_, {}};
    if (common.a == nullptr || common.b == nullptr) continue;
    const bool ordinal = common.a->step_kind == record::StepKind::ordinal ||
                         common.b->step_kind == record::StepKind::ordinal;
    common.kind = ordinal ? record::StepKind::ordinal : common.a->step_kind;
    common.refusal = refusal_of(*common.a, *common.b);
    if (common.a->role == record::Role::loss && rewarded_a != rewarded_b)
      common.refusal = std::string("different units: only ") + (rewarded_a ? "A" : "B") +
                       " trains on a reward, and the loss of such a run is a surrogate";
    out.push_back(std::move(common));
  }
  return out;
}

int better_of(record::Role role) {
  switch (role) {
    case record::Role::loss:
    case record::Role::eval_loss:
    case record::Role::perplexity:
    case record::Role::value_loss:
      return -1;
    case record::Role::accuracy:
    case record::Role::eval_accuracy:
    case record::Role::reward:
      return 1;
    default:
      return 0;
  }
}

bool is_outcome(record::Role role, bool has_reward) {
  if (role == record::Role::loss && has_reward) return false;
  return std::find(k_order.begin(), k_order.end(), role) != k_order.end();
}

bool is_held_out(record::Role role) {
  return role == record::Role::eval_loss || role == record::Role::eval_accuracy ||
         role == record::Role::eval_metric || role == record::Role::eval_component;
}

int order_of(record::Role role) {
  const auto* const at = std::find(k_order.begin(), k_order.end(), role);
  return static_cast<int>(at - k_order.begin()) +
         (at == k_order.end() && role == record::Role::other ? 1 : 0);
}

}  // namespace aplomb::compare

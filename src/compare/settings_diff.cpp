#include "compare/settings_diff.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/pair_table.h"

namespace aplomb::compare {
namespace {

/// What the remedies of knowledge/causes set most often (five times or more), and the optimizer.
constexpr std::string_view k_usual_suspects[] = {
    "precision.compute",    "precision.params",   "attn.impl",          "optim.lr",
    "optim.grad_clip",      "optim.weight_decay", "optim.name",         "schedule.warmup_steps",
    "schedule.warmup_frac", "batch.micro",        "batch.accumulation", "batch.global",
    "data.packing"};

bool is_usual_suspect(std::string_view setting) {
  return std::find(std::begin(k_usual_suspects), std::end(k_usual_suspects), setting) !=
         std::end(k_usual_suspects);
}

/// By the first part of the canonical name; families that stand nowhere here change training.
Reach reach_of(std::string_view setting) {
  static const std::vector<std::pair<Reach, std::vector<std::string_view>>> families = {
      {Reach::seed, {"seed."}},
      {Reach::environment, {"env.", "hardware."}},
      {Reach::execution,
       {"dist.", "memory.", "compile.", "speed.", "data.workers", "data.prefetch",
        "data.persistent", "data.pin_memory", "data.preprocessing", "rl.engine_"}},
      {Reach::bookkeeping, {"log.", "save.", "eval.", "batch.eval_micro", "guard."}}};
  for (const auto& [reach, beginnings] : families) {
    for (const std::string_view beginning : beginnings) {
      if (setting.starts_with(beginning)) return reach;
    }
  }
  return Reach::training;
}

bool equal(const core::Value& a, const core::Value& b) {
  const double* x = core::as_number(a);
  const double* y = core::as_number(b);
  if (x == nullptr || y == nullptr) return a == b;
  constexpr double k_spelled = 1e-9;  // 2e-4 and 0.0002
  return std::fabs(*x - *y) <= k_spelled * std::max(std::fabs(*x), std::fabs(*y));
}

std::optional<SettingSide> side_of(const record::Run& run, const std::string& name) {
  const record::Setting* setting = run.setting(name);
  if (setting == nullptr) return std::nullopt;
  const record::SourceId source = setting->origin.source;
  return SettingSide{setting->value, source < run.sources.size() ? run.sources[source].path : "",
                     setting->origin.line};
}

/// Samples of an optimizer step as the parts say; NaN where the micro-batch is not known.
double batch_of(const record::Run& run) {
  const auto number = [&](const char* name, double otherwise) {
    const record::Setting* setting = run.setting(name);
    const double* value = setting != nullptr ? core::as_number(setting->value) : nullptr;
    return value != nullptr ? *value : otherwise;
  };
  return number("batch.micro", std::numeric_limits<double>::quiet_NaN()) *
         number("batch.accumulation", 1) * number("batch.world", 1);
}

/// Greater: further apart. Words and truths count as a factor of ten, a number that was switched on
/// or off as somewhat more.
double distance(const SettingDifference& difference) {
  const double* x = difference.a ? core::as_number(difference.a->value) : nullptr;
  const double* y = difference.b ? core::as_number(difference.b->value) : nullptr;
  if (x == nullptr || y == nullptr) return 1;
  if (*x == 0 || *y == 0 || (*x < 0) != (*y < 0)) return 1.25;  // on and off
  return std::fabs(std::log10(*x / *y));
}

}  // namespace

std::string_view name(Reach reach) {
  static constexpr std::pair<Reach, std::string_view> k_names[] = {
      {Reach::training, "training"},
      {Reach::seed, "seed"},
      {Reach::execution, "execution"},
      {Reach::environment, "environment"},
      {Reach::bookkeeping, "bookkeeping"}};
  return core::second_of(k_names, reach).value_or("training");
}

std::vector<SettingDifference> settings_diff(const record::Run& a, const record::Run& b) {
  std::set<std::string> names;
  for (const record::Setting& each : a.settings) names.insert(each.name);
  for (const record::Setting& each : b.settings) names.insert(each.name);
  const bool same_batch = batch_of(a) == batch_of(b);
  const std::set<std::string> parts = {"batch.micro", "batch.accumulation", "batch.world"};
  std::vector<SettingDifference> out;
  for (const std::string& each : names) {
    SettingDifference difference{each, reach_of(each), side_of(a, each), side_of(b, each)};
    if (difference.a && difference.b && equal(difference.a->value, difference.b->value)) continue;
    if (same_batch && parts.contains(each)) difference.reach = Reach::execution;
    out.push_back(std::move(difference));
  }
  const auto suspicion = [](const SettingDifference& each) {
    return std::make_tuple(each.reach, !(each.a && each.b), !is_usual_suspect(each.name),
                           -distance(each));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto& x, const auto& y) { return suspicion(x) < suspicion(y); });
  return out;
}

}  // namespace aplomb::compare

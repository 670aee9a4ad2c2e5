#include "compare/settings_diff.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

namespace aplomb::compare {
namespace {

struct Family {
  std::string_view prefix;
  Reach reach;
};
/// By the first part of the canonical name; families that stand nowhere here change training.
constexpr Family k_families[] = {{"seed.", Reach::seed},
                                 {"env.", Reach::environment},
                                 {"hardware.", Reach::environment},
                                 {"dist.", Reach::execution},
                                 {"memory.", Reach::execution},
                                 {"compile.", Reach::execution},
                                 {"speed.", Reach::execution},
                                 {"log.", Reach::bookkeeping},
                                 {"save.", Reach::bookkeeping},
                                 {"eval.", Reach::bookkeeping},
                                 {"data.workers", Reach::execution},
                                 {"data.prefetch", Reach::execution},
                                 {"data.persistent", Reach::execution},
                                 {"data.pin_memory", Reach::execution},
                                 {"data.preprocessing", Reach::execution},
                                 {"batch.eval_micro", Reach::bookkeeping},
                                 {"guard.", Reach::bookkeeping},
                                 {"rl.engine_", Reach::execution}};

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

Reach reach_of(std::string_view setting) {
  for (const Family& each : k_families) {
    if (setting.starts_with(each.prefix)) return each.reach;
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
  switch (reach) {
    case Reach::training:
      return "training";
    case Reach::seed:
      return "seed";
    case Reach::execution:
      return "execution";
    case Reach::environment:
      return "environment";
    case Reach::bookkeeping:
      return "bookkeeping";
  }
  return "training";
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

#include "compare/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace aplomb::compare {
namespace {

/// Rises from end to end: a count, not the size of each batch.
bool is_running(const Curve& curve) {
  return curve.size() > 1 && curve.value.back() > curve.value.front() &&
         std::is_sorted(curve.value.begin(), curve.value.end());
}

}  // namespace

Curve curve_of(const record::Series& series, record::StepKind kind) {
  Curve curve;
  const std::size_t size = series.size();
  curve.value = series.value;
  curve.at.resize(size);
  for (std::size_t i = 0; i < size; ++i)
    curve.at[i] = static_cast<double>(
        kind == record::StepKind::ordinal ? static_cast<std::int64_t>(i) : series.step[i]);
  if (std::adjacent_find(curve.at.begin(), curve.at.end(), std::greater_equal<>()) ==
      curve.at.end())
    return curve;
  std::map<double, double> last;  // the slow way: steps that repeat or go back
  for (std::size_t i = 0; i < size; ++i) last[curve.at[i]] = curve.value[i];
  curve.at.clear();
  curve.value.clear();
  for (const auto& [at, value] : last) {
    curve.at.push_back(at);
    curve.value.push_back(value);
  }
  return curve;
}

std::optional<TokenClock> TokenClock::of(const record::Run& run) {
  TokenClock clock;
  for (const record::Series& each : run.series) {
    if (each.name != k_tokens_seen || each.size() <= clock.count_.size()) continue;
    Curve count = curve_of(each, each.step_kind);
    if (is_running(count)) clock.count_ = std::move(count);
  }
  if (clock.count_.size() > 0) return clock;
  const record::Setting* per_step = run.setting("batch.tokens");
  const double* tokens = per_step != nullptr ? core::as_number(per_step->value) : nullptr;
  if (tokens == nullptr || !(*tokens > 0)) return std::nullopt;
  clock.per_step_ = *tokens;
  return clock;
}

Curve TokenClock::over_tokens(const Curve& over_steps) const {
  std::vector<double> tokens = over_steps.at;
  if (count_.size() > 0) {
    tokens = values_at(count_, over_steps.at);
  } else {
    for (double& each : tokens) each *= per_step_;
  }
  Curve out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!std::isfinite(tokens[i]) || (!out.at.empty() && tokens[i] <= out.at.back())) continue;
    out.at.push_back(tokens[i]);
    out.value.push_back(over_steps.value[i]);
  }
  return out;
}

std::vector<double> values_at(const Curve& curve, const std::vector<double>& places) {
  std::vector<double> out;
  out.reserve(places.size());
  std::size_t i = 0;
  for (const double place : places) {
    while (i < curve.size() && curve.at[i] < place) ++i;
    if (i < curve.size() && curve.at[i] == place) {
      out.push_back(curve.value[i]);
    } else if (i == 0 || i == curve.size()) {
      out.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      const double share = (place - curve.at[i - 1]) / (curve.at[i] - curve.at[i - 1]);
      out.push_back(curve.value[i - 1] + share * (curve.value[i] - curve.value[i - 1]));
    }
  }
  return out;
}

bool is_usable(double a, double b) {
  constexpr double k_most = 1e150;
  return std::fabs(a) < k_most && std::fabs(b) < k_most;
}

Pairs pair(const Curve& a, const Curve& b) {
  Pairs exact;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a.at[i] < b.at[k]) {
      ++i;
    } else if (a.at[i] > b.at[k]) {
      ++k;
    } else {
      exact.at.push_back(a.at[i]);
      exact.a.push_back(a.value[i++]);
      exact.b.push_back(b.value[k++]);
    }
  }
  if (a.size() == 0 || b.size() == 0) return exact;
  const double first = std::max(a.at.front(), b.at.front());
  const double last = std::min(a.at.back(), b.at.back());
  const auto within = [&](const Curve& curve) {
    return std::upper_bound(curve.at.begin(), curve.at.end(), last) -
           std::lower_bound(curve.at.begin(), curve.at.end(), first);
  };
  const std::ptrdiff_t fewer = std::min(within(a), within(b));
  if (first > last || static_cast<std::ptrdiff_t>(2 * exact.size()) >= fewer) return exact;
  Pairs between;
  between.between = true;
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (b.at[k] < first || b.at[k] > last) continue;
    between.at.push_back(b.at[k]);
    between.b.push_back(b.value[k]);
  }
  between.a = values_at(a, between.at);
  return between;
}

}  // namespace aplomb::compare

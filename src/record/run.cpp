#include "record/run.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace aplomb::record {
namespace {

/// Greater is better: what makes one of several series of a role the one to judge.
auto rank_of(const Series& series) {
  return std::make_tuple(series.count, series.step_kind == StepKind::explicit_ ? 1 : 0,
                         -series.rank);
}

/// Records that are merely counted cannot be laid beside those of another artifact: a log that prints
/// its last evaluation once more is no better than the file that knows its steps.
constexpr double k_nearly_all = 0.75;  // judgement: one or two prints at the end of eight

/// The one to judge among the series that `fits` takes; null where it takes none.
template <typename Fits>
const Series* best_of(const std::vector<Series>& series, const Fits& fits) {
  const Series* most = nullptr;
  const Series* with_steps = nullptr;
  for (const Series& candidate : series) {
    if (candidate.empty() || !fits(candidate)) continue;
    if (most == nullptr || rank_of(candidate) > rank_of(*most)) most = &candidate;
    if (candidate.step_kind != StepKind::explicit_) continue;
    if (with_steps == nullptr || rank_of(candidate) > rank_of(*with_steps)) with_steps = &candidate;
  }
  // What was done again after a restart only the log has.
  const bool counted = most != nullptr && most->step_kind == StepKind::ordinal &&
                       most->segment[most->size() - 1] == most->segment[0];
  const bool enough = with_steps != nullptr && static_cast<double>(with_steps->count) >=
                                                   k_nearly_all * static_cast<double>(most->count);
  return counted && enough ? with_steps : most;
}

/// The same samples, printed with fewer digits: trainers print four (a relative error of 5e-4 at
/// most).
bool is_same_data(const Series& printed, const Series& exact) {
  constexpr double k_printed = 1e-3;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double a = printed.value[i];
    const double b = exact.value[i];
    if (std::isfinite(a) != std::isfinite(b)) return false;
    if (std::isfinite(a) && std::fabs(a - b) > k_printed * std::fabs(b) + 1e-12) return false;
  }
  return true;
}

}  // namespace

const Series* Run::primary(Role role) const {
  return best_of(series, [role](const Series& each) { return each.role == role; });
}

const Series* Run::find(std::string_view series_name) const {
  return best_of(series, [series_name](const Series& each) { return each.name == series_name; });
}

// NOLINTBEGIN(bugprone-return-const-ref-from-parameter): `wanted` is a series of this run
const Series& Run::shown_by(const Series& wanted) const {
  if (wanted.empty() || wanted.line.front() > 0) return wanted;
  for (const Series& other : series) {
    if (other.name == wanted.name && other.size() == wanted.size() && other.line.front() > 0 &&
        is_same_data(other, wanted)) {
      return other;
    }
  }
  return wanted;
}
// NOLINTEND(bugprone-return-const-ref-from-parameter)

const Setting* Run::setting(std::string_view setting_name) const {
  for (auto it = settings.rbegin(); it != settings.rend(); ++it) {
    if (it->name == setting_name) return &*it;
  }
  return nullptr;
}

std::string Run::framework() const {
  std::map<std::string, int> votes;
  for (const Source& source : sources) {
    if (!source.framework.empty()) ++votes[source.framework];
  }
  for (const Setting& each : settings) {
    if (!each.framework.empty()) ++votes[each.framework];
  }
  std::string best;
  for (const auto& [slug, count] : votes) {
    if (best.empty() || count > votes[best]) best = slug;
  }
  return best;
}

}  // namespace aplomb::record

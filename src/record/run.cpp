#include "record/run.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace aplomb {
namespace {

/// Greater is better: what makes one of several series of a role the one to judge.
auto rank_of(const Series& series) {
  return std::make_tuple(series.count, series.step_kind == StepKind::explicit_ ? 1 : 0,
                         -series.rank);
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

/// Of two neighbours the one to keep: the non-finite, else the one further from the sample before
/// them.
bool keep_second(double before, double first, double second) {
  if (!std::isfinite(first)) return false;
  if (!std::isfinite(second)) return true;
  if (!std::isfinite(before)) return false;
  return std::fabs(second - before) > std::fabs(first - before);
}

}  // namespace

void Series::append(std::int64_t at_step, double sample, std::uint16_t at_segment,
                    std::uint64_t at_line, std::uint64_t at_offset) {
  ++count;
  if (std::isfinite(sample)) {
    if (!(min <= sample)) min = sample;
    if (!(max >= sample)) max = sample;
  } else {
    ++nonfinite_count;
  }
  // Between kept samples only a non-finite one is let through: the first NaN must not be thinned
  // away.
  // `thinned` is a power of two.
  if (thinned > 1 && (++skip_ & (thinned - 1U)) != 0 &&
      (std::isfinite(sample) || nonfinite_count > 64)) {
    return;
  }
  if (value.size() >= k_max_points) thin();
  step.push_back(at_step);
  value.push_back(sample);
  segment.push_back(at_segment);
  line.push_back(at_line);
  offset.push_back(at_offset);
}

void Series::go_on_with(const Series& later) {
  static constexpr unsigned k_last_segment = std::numeric_limits<std::uint16_t>::max();
  const unsigned shift = segment.empty() ? 0U : segment.back() + 1U;
  const auto shifted = [shift](std::uint16_t at) {
    const unsigned sum = std::min<unsigned>(k_last_segment, at + shift);
    return static_cast<std::uint16_t>(sum);
  };
  continuations.push_back({shifted(0), later.source});
  for (const Continuation& each : later.continuations) {
    continuations.push_back({shifted(each.first_segment), each.source});
  }
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (value.size() >= k_max_points) thin();
    step.push_back(later.step[i]);
    value.push_back(later.value[i]);
    segment.push_back(shifted(later.segment[i]));
    line.push_back(later.line[i]);
    offset.push_back(later.offset[i]);
  }
  count += later.count;
  nonfinite_count += later.nonfinite_count;
  thinned = std::max(thinned, later.thinned);
  min = std::fmin(min, later.min);  // fmin and fmax leave out a NaN on one side
  max = std::fmax(max, later.max);
}

void Series::thin() {
  std::size_t kept = 0;
  double before = value[0];
  for (std::size_t i = 0; i + 1 < value.size(); i += 2) {
    const std::size_t from = keep_second(before, value[i], value[i + 1]) ? i + 1 : i;
    step[kept] = step[from];
    value[kept] = value[from];
    segment[kept] = segment[from];
    line[kept] = line[from];
    offset[kept] = offset[from];
    before = value[kept];
    ++kept;
  }
  step.resize(kept);
  value.resize(kept);
  segment.resize(kept);
  line.resize(kept);
  offset.resize(kept);
  thinned *= 2;
}

const Series* Run::primary(Role role) const {
  const Series* best = nullptr;
  for (const Series& candidate : series) {
    if (candidate.role != role || candidate.empty()) continue;
    if (best == nullptr || rank_of(candidate) > rank_of(*best)) best = &candidate;
  }
  return best;
}

const Series* Run::find(std::string_view series_name) const {
  const Series* best = nullptr;
  for (const Series& candidate : series) {
    if (candidate.name != series_name || candidate.empty()) continue;
    if (best == nullptr || rank_of(candidate) > rank_of(*best)) best = &candidate;
  }
  return best;
}

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

}  // namespace aplomb

#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compare/metrics.h"
#include "core/pair_table.h"
#include "core/robust_window.h"

namespace aplomb::compare {
namespace {

const record::Series* longest(const record::Run& run) {
  const record::Series* best = nullptr;
  for (const record::Series& each : run.series) {
    if (best == nullptr || each.count > best->count) best = &each;
  }
  return best;
}

/// The series over the axis that was asked for.
class Placer {
 public:
  Placer(const record::Run& run, Axis axis) {
    if (axis == Axis::tokens) clock_ = TokenClock::of(run);
  }
  bool has_clock() const { return clock_.has_value(); }
  Curve operator()(const record::Series& series, record::StepKind kind) const {
    Curve curve = curve_of(series, kind);
    return clock_ ? clock_->over_tokens(curve) : curve;
  }

 private:
  std::optional<TokenClock> clock_;
};

Level::Side side_of(const record::Series& series) {
  std::vector<double> values;
  std::copy_if(series.value.begin(), series.value.end(), std::back_inserter(values),
               [](double each) { return std::isfinite(each); });
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.25), at(0.5), at(0.75), values.back()};
}

std::vector<Level> levels_of(const record::Run& a, const record::Run& b) {
  std::vector<Level> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(record::Role::count_); ++i) {
    const auto role = static_cast<record::Role>(i);
    if (!is_level(role)) continue;
    const record::Series* of_a = a.primary(role);
    const record::Series* of_b = b.primary(role);
    if (of_a == nullptr || of_b == nullptr || std::isnan(of_a->max) || std::isnan(of_b->max))
      continue;
    out.push_back({std::string(record::name(role)), role, side_of(*of_a), side_of(*of_b)});
  }
  return out;
}

/// Builds one Comparison, part by part.
class Builder {
 public:
  Builder(const record::Run& a, const record::Run& b, const Seeds& seeds, Axis axis)
      : a_(a),
        b_(b),
        seeds_a_(seeds.a, axis),
        seeds_b_(seeds.b, axis),
        place_a_(a, axis),
        place_b_(b, axis) {
    out_.axis = axis;
  }

  core::Result<Comparison> make() {
    if (auto fine = check_input(); !fine) return tl::unexpected(fine.error());
    metrics();
    if (out_.metrics.empty()) return core::fail(core::ErrorCode::bad_usage, nothing_common());
    judge();
    equality();
    out_.lost_a = lost_at(a_);
    out_.lost_b = lost_at(b_);
    for (const Others* others : {&seeds_a_, &seeds_b_}) {
      for (const record::Run& each : others->runs) {
        if (const auto step = lost_at(each)) out_.lost_further.push_back(*step);
      }
    }
    out_.settings = settings_diff(a_, b_);
    out_.levels = levels_of(a_, b_);
    verdict();
    notes();
    return std::move(out_);
  }

 private:
  core::Result<void> check_input() const {
    for (const auto& [run, letter] : {std::pair(&a_, 'A'), std::pair(&b_, 'B')}) {
      if (longest(*run) != nullptr) continue;
      return core::fail(core::ErrorCode::bad_usage,
                        fmt::format("[compare] {} ({}) holds no metrics; give the log, "
                                    "trainer_state.json or event files of the run",
                                    letter, run->name));
    }
    if (out_.axis == Axis::step) return {};
    for (const auto& [placer, letter] : {std::pair(&place_a_, 'A'), std::pair(&place_b_, 'B')}) {
      if (placer->has_clock()) continue;
      return core::fail(
          core::ErrorCode::bad_usage,
          fmt::format("[compare] {} does not tell its tokens: it logs no running count "
                      "(num_tokens, num_input_tokens_seen) and states no tokens per step; "
                      "leave --by tokens out",
                      letter));
    }
    return {};
  }

  void metrics() {
    for (const Common& common : common_metrics(a_, b_)) {
      Metric metric;
      metric.name = common.a->name;
      metric.role = common.a->role;
      metric.better = better_of(metric.role);
      if (common.refusal.empty()) metric.pairs = pairs_of(common);
      if (common.refusal.empty() && metric.pairs.size() > 0) {
        kinds_.push_back(common.kind);
        by_order_ = by_order_ || common.a->step_kind != common.b->step_kind;
        out_.metrics.push_back(std::move(metric));
      } else {
        out_.refused.push_back({metric.name, metric.role,
                                common.refusal.empty() ? no_overlap(common) : common.refusal});
      }
    }
  }

  Pairs pairs_of(const Common& common) const {
    return pair(place_a_(*common.a, common.kind), place_b_(*common.b, common.kind));
  }

  static std::string no_overlap(const Common& common) {
    return fmt::format("no steps in common: A has {} to {}, B {} to {}", common.a->step.front(),
                       common.a->step.back(), common.b->step.front(), common.b->step.back());
  }

  std::string nothing_common() const {
    if (!out_.refused.empty())
      return fmt::format("[compare] nothing can be compared: {}: {}", out_.refused[0].name,
                         out_.refused[0].why);
    const auto names = [](const record::Run& run) {
      std::string all;
      for (std::size_t i = 0; i < std::min<std::size_t>(run.series.size(), 6); ++i)
        all += (i > 0 ? ", " : "") + run.series[i].name;
      return run.series.size() > 6 ? all + ", ..." : all;
    };
    return fmt::format("[compare] the two runs have no metric in common: A has {}; B has {}",
                       names(a_), names(b_));
  }

  /// Further runs of one side.
  struct Others {
    Others(const std::vector<record::Run>& others, Axis axis) : runs(others) {
      for (const record::Run& each : others) places.emplace_back(each, axis);
    }
    const std::vector<record::Run>& runs;
    std::vector<Placer> places;
  };

  /// Their values of a metric at the places of its pairs. `like`: the values of their side's first.
  std::vector<std::vector<double>> values_of(const Others& others, const Metric& metric,
                                             const std::vector<double>& like,
                                             record::StepKind kind) const {
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i < others.runs.size(); ++i) {
      const record::Series* series = others.runs[i].find(metric.name);
      if (series == nullptr) continue;
      values.push_back(values_at(others.places[i](*series, kind), metric.pairs.at));
      // The very same numbers are the same run again and would make the noise look small.
      if (likeness_of({metric.pairs.at, like, values.back(), false}).bits == metric.pairs.size() &&
          metric.outcome) {
        copies_ = true;
        values.pop_back();
      }
    }
    return values;
  }

  void judge() {
    const bool has_reward = a_.primary(record::Role::reward) != nullptr;
    for (std::size_t i = 0; i < out_.metrics.size(); ++i) {
      Metric& metric = out_.metrics[i];
      metric.outcome = is_outcome(metric.role, has_reward);
      const Further further = {values_of(seeds_a_, metric, metric.pairs.a, kinds_[i]),
                               values_of(seeds_b_, metric, metric.pairs.b, kinds_[i])};
      metric.likeness = likeness_of(metric.pairs);
      metric.broken = first_broken(metric.pairs);
      metric.parted = further.a.empty() ? parting_of(metric.pairs)
                                        : parting_from_seeds(metric.pairs, further.a);
      metric.ending =
          ending_of(metric.pairs, further,
                    is_held_out(metric.role) ? Measured::on_held_out : Measured::on_batches);
      if (metric.outcome && metric.ending.basis != Basis::none) ++out_.outcomes;
    }
    for (Metric& each : out_.metrics)
      each.beyond = each.ending.beyond_noise(each.outcome ? out_.outcomes : 1);
    std::stable_sort(out_.metrics.begin(), out_.metrics.end(), [](const auto& x, const auto& y) {
      return std::pair(!x.outcome, order_of(x.role)) < std::pair(!y.outcome, order_of(y.role));
    });
  }

  void equality() {
    out_.bits = equal_to([](const Metric& each) { return each.likeness.bits; });
    out_.digits = equal_to([](const Metric& each) { return each.likeness.digits; });
  }

  template <class FirstDifference>
  EqualTo equal_to(FirstDifference first_difference) const {
    EqualTo out;
    for (const Metric& each : out_.metrics) {
      if (each.role == record::Role::other || each.pairs.between) continue;
      const std::size_t first = first_difference(each);
      if (first == each.pairs.size()) continue;
      if (out.difference && *out.difference <= each.pairs.at[first]) continue;
      out.difference = each.pairs.at[first];
      out.metric = each.name;
    }
    for (const Metric& each : out_.metrics) {
      if (each.role == record::Role::other || each.pairs.between) continue;
      for (const double at : each.pairs.at) {
        if (out.difference && at >= *out.difference) break;
        out.last = std::max(out.last.value_or(at), at);
      }
    }
    return out;
  }

  /// From some place on one of the two has no value any more, while the other still had one there.
  static bool breaks_for_good(const Metric& metric) {
    if (!metric.broken) return false;
    for (std::size_t i = *metric.broken; i < metric.pairs.size(); ++i) {
      if (std::isfinite(metric.pairs.a[i]) && std::isfinite(metric.pairs.b[i])) return false;
    }
    return true;
  }

  static std::optional<std::int64_t> lost_at(const record::Run& run) {
    const record::Series* loss = run.primary(record::Role::loss);
    if (loss == nullptr || loss->empty() || std::isfinite(loss->value.back())) return std::nullopt;
    std::size_t at = loss->value.size();
    while (at > 0 && !std::isfinite(loss->value[at - 1])) --at;
    return loss->step[at];
  }

  void verdict() {
    const auto first = [&](auto holds) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < out_.metrics.size(); ++i) {
        if (holds(out_.metrics[i])) return i;
      }
      return std::nullopt;
    };
    const auto beyond = first([](const Metric& each) { return each.outcome && each.beyond; });
    const auto judged =
        first([](const Metric& each) { return each.outcome && each.ending.basis != Basis::none; });
    const auto broke =
        first([](const Metric& each) { return each.outcome && breaks_for_good(each); });
    if (out_.digits.last && !out_.digits.difference) {
      out_.verdict = Judgement::identical;
    } else if (broke) {
      out_.verdict = Judgement::differ;
      out_.lead = *broke;
    } else if (beyond) {
      out_.verdict = Judgement::differ;
      out_.lead = *beyond;
    } else if (judged) {
      out_.verdict = Judgement::same;
      out_.lead = *judged;
    }
    if (out_.verdict != Judgement::differ) judge_cost();
  }

  /// A run that learns as well at half the speed is no replacement, and says that something is off.
  void judge_cost() {
    const auto costly = std::find_if(out_.levels.begin(), out_.levels.end(),
                                     [](const Level& level) { return level.costly(); });
    if (costly == out_.levels.end()) return;
    out_.cost = static_cast<std::size_t>(costly - out_.levels.begin());
    out_.verdict = Judgement::differ;
  }

  RunBrief brief_of(const record::Run& run, const Placer& placer) const {
    const record::Series* series = longest(run);
    for (const record::Role role :
         {record::Role::loss, record::Role::reward, record::Role::eval_loss}) {
      if (const record::Series* known = run.primary(role)) {
        series = known;
        break;
      }
    }
    const Curve curve = placer(*series, series->step_kind);
    if (curve.size() == 0) return {run.name, series->count, 0, 0, run.settings.size()};
    return {run.name, series->count, curve.at.front(), curve.at.back(), run.settings.size()};
  }

  /// Both state the same seed, and no setting that training computes with differs.
  bool is_repeated() const {
    const record::Setting* a = a_.setting("seed.value");
    const record::Setting* b = b_.setting("seed.value");
    if (a == nullptr || b == nullptr || core::show(a->value) != core::show(b->value)) return false;
    return std::none_of(out_.settings.begin(), out_.settings.end(), [](const auto& each) {
      return each.reach == Reach::training && each.a && each.b;
    });
  }

  std::vector<RunBrief> briefs_of(const Others& others) const {
    std::vector<RunBrief> briefs;
    for (std::size_t i = 0; i < others.runs.size(); ++i) {
      if (longest(others.runs[i]) != nullptr)
        briefs.push_back(brief_of(others.runs[i], others.places[i]));
    }
    return briefs;
  }

  void notes() {
    out_.a = brief_of(a_, place_a_);
    out_.b = brief_of(b_, place_b_);
    out_.seeds = briefs_of(seeds_a_);
    out_.b_seeds = briefs_of(seeds_b_);
    const auto note = [&](std::string text) { out_.notes.push_back(std::move(text)); };
    const Metric& lead = out_.leading();
    if (out_.a.last != out_.b.last) {
      const bool longer_a = out_.a.last > out_.b.last;
      note(fmt::format("{} goes on to {:.0f}, {} ends at {:.0f}: compared as far as both go",
                       longer_a ? "A" : "B", std::max(out_.a.last, out_.b.last),
                       longer_a ? "B" : "A", std::min(out_.a.last, out_.b.last)));
    }
    if (by_order_) note("one of the two states no steps: samples are paired in their order");
    if (lead.pairs.between && out_.axis == Axis::step)
      note("the two log at different steps: A is read between its samples");
    if (copies_)
      note(
          "a run given as another seed has the very numbers of the first: it tells nothing of "
          "noise and was left out");
    const bool further_too = std::all_of(out_.lost_further.begin(), out_.lost_further.end(),
                                         [&](std::int64_t each) { return each == out_.lost_a; });
    if (out_.lost_a && out_.lost_a == out_.lost_b && further_too &&
        out_.verdict != Judgement::unknown)
      note(fmt::format(
          "both end in NaN from step {} on: with the same order of the data that points to "
          "the batch of that step; replay it alone",
          *out_.lost_a));
    if (is_repeated() && out_.digits.difference)
      note(fmt::format(
          "one seed, the same settings, and {} differs from {} {:.0f} on: kernels that are not "
          "deterministic (cudnn.benchmark, atomic sums), or another order of the data; "
          "aplomb run --deterministic sets and logs the knobs",
          out_.digits.metric, out_.axis == Axis::step ? "step" : "token", *out_.digits.difference));
    if (!out_.b_seeds.empty())
      note("settings, curves and where they part are those of the first run of each side");
  }

  const record::Run& a_;
  const record::Run& b_;
  Others seeds_a_;
  Others seeds_b_;
  Placer place_a_;
  Placer place_b_;
  std::vector<record::StepKind> kinds_;  // of out_.metrics while they are in the order of reading
  bool by_order_ = false;
  mutable bool copies_ = false;
  Comparison out_;
};

}  // namespace

std::string_view name(Judgement judgement) {
  static constexpr std::pair<Judgement, std::string_view> k_names[] = {
      {Judgement::identical, "identical"},
      {Judgement::same, "same"},
      {Judgement::differ, "differ"},
      {Judgement::unknown, "unknown"}};
  return core::second_of(k_names, judgement).value_or("unknown");
}

bool Level::costly() const {
  // throughput.drop's own factor for a run that slows down, and for memory the step from one size of
  // card towards the next (24, 32, 40, 48, 80 GB).
  constexpr double k_slower = 1.5;
  constexpr double k_more = 1.3;
  const bool memory = role == record::Role::memory_bytes || role == record::Role::host_memory_bytes;
  const bool rate = role == record::Role::tokens_per_s || role == record::Role::samples_per_s ||
                    role == record::Role::mfu_frac;
  const bool time = role == record::Role::step_time_s;
  const double more = rate ? 1 / ratio() : ratio();
  if (memory) return more >= k_more;
  return (rate || time) && clear() && more >= k_slower;
}

std::optional<std::size_t> Metric::apart() const {
  if (broken && parted) return std::min(*broken, *parted);
  return broken ? broken : parted;
}

double Level::ratio() const {
  const bool memory = role == record::Role::memory_bytes || role == record::Role::host_memory_bytes;
  const double of_a = memory ? a.most : a.median;
  const double of_b = memory ? b.most : b.median;
  return of_a != 0 ? of_b / of_a : std::numeric_limits<double>::quiet_NaN();
}

core::Result<Comparison> compare_runs(const record::Run& a, const record::Run& b,
                                      const Seeds& seeds, Axis axis) {
  return Builder(a, b, seeds, axis).make();
}

std::optional<Side> worse_of(const Comparison& comparison) {
  if (comparison.verdict != Judgement::differ) return std::nullopt;
  if (comparison.cost) return Side::b;
  const Metric& lead = comparison.leading();
  const Ending& end = lead.ending;
  if (std::isnan(end.a) != std::isnan(end.b)) return std::isnan(end.a) ? Side::a : Side::b;
  if (std::isnan(end.a) || lead.better == 0) return std::nullopt;
  // A loss of exactly 0 is no success: nothing trains there.
  if ((end.a == 0) != (end.b == 0) && lead.better < 0) return end.a == 0 ? Side::a : Side::b;
  return (end.difference() > 0) == (lead.better > 0) ? Side::a : Side::b;
}

void explain(Comparison& comparison, std::optional<Ailment> a, std::optional<Ailment> b) {
  comparison.ails_a = std::move(a);
  comparison.ails_b = std::move(b);
  const std::optional<Side> worse = worse_of(comparison);
  if (!worse) return;
  const auto& ailment = *worse == Side::a ? comparison.ails_a : comparison.ails_b;
  if (!ailment) return;
  std::stable_partition(comparison.settings.begin(), comparison.settings.end(),
                        [&](const SettingDifference& each) {
                          return each.reach == Reach::training &&
                                 std::find(ailment->sets.begin(), ailment->sets.end(), each.name) !=
                                     ailment->sets.end();
                        });
}

core::Result<record::Run> chosen_run(std::vector<record::Run> runs, const std::string& path,
                                     std::string& note) {
  record::Run* best = nullptr;
  std::size_t with_series = 0;
  for (record::Run& each : runs) {
    const record::Series* of_each = longest(each);
    if (of_each == nullptr) continue;
    ++with_series;
    if (best == nullptr || of_each->count > longest(*best)->count) best = &each;
  }
  if (best == nullptr) {
    std::string why;
    for (const record::Run& each : runs) {
      for (const record::Defect& defect : each.defects)
        if (why.empty()) why = " (" + defect.text + ")";
    }
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[compare] {} holds no metrics{}; give the log, trainer_state.json or "
                    "event files of the run",
                    path, why));
  }
  if (with_series > 1)
    note = fmt::format("{} holds {} runs: {} is taken, it has the most samples", path, with_series,
                       best->name);
  return std::move(*best);
}

}  // namespace aplomb::compare

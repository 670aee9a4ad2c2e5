#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/compare_view.h"
#include "report/plan_view.h"
#include "report/remedy_text.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

using compare::Basis;
using compare::Comparison;
using compare::Judgement;
using compare::Metric;
using compare::Reach;
using compare::SettingDifference;

std::string show_p(double p) { return p < 1e-4 ? "p < 0.0001" : fmt::format("p = {:.2g}", p); }

std::string signed_number(double value) {
  return (value > 0 ? "+" : "") + core::show_number(value, 3);
}

std::string both_at_the_end(const Metric& metric) {
  return fmt::format("{} {} against {}", core::sanitize(metric.name),
                     core::show_number(metric.ending.b), core::show_number(metric.ending.a));
}

/// Where the metric parts; where it has too few samples to say: where the next outcome that differs
/// does.
std::string apart_from(const Comparison& comparison, const Metric& metric) {
  const auto place = [&](const Metric& of) {
    return show_place(comparison.axis, of.pairs.at[*of.apart()]);
  };
  if (metric.apart()) return "; apart from " + place(metric);
  for (const Metric& each : comparison.metrics) {
    if (each.outcome && each.beyond && each.apart())
      return fmt::format("; {} apart from {}", core::sanitize(each.name), place(each));
  }
  return {};
}

std::string identical_text(const Comparison& comparison) {
  std::size_t samples = 0;
  std::size_t metrics = 0;
  for (const Metric& each : comparison.metrics) {
    if (each.role == record::Role::other || each.pairs.between) continue;
    samples += each.pairs.size();
    ++metrics;
  }
  const std::string what = fmt::format("to {}: {} samples of {} metric{}",
                                       show_place(comparison.axis, *comparison.digits.last),
                                       samples, metrics, metrics == 1 ? "" : "s");
  if (!comparison.bits.difference) return "equal to the last bit " + what;
  return fmt::format("equal but for rounding {}; the first differing digits are those of {} at {}",
                     what, core::sanitize(comparison.bits.metric),
                     show_place(comparison.axis, *comparison.bits.difference));
}

/// An outcome whose difference points the other way: a training loss that fell because the model
/// learnt its data by heart is no success.
std::string against_it(const Comparison& comparison, bool better) {
  for (const Metric& each : comparison.metrics) {
    const double difference = each.ending.difference();
    const bool large = each.ending.p < compare::k_level_seeds ||
                       std::fabs(difference) >= std::fabs(comparison.leading().ending.difference());
    if (!each.outcome || !large || difference == 0 || std::isnan(difference)) continue;
    if (((difference > 0) == (each.better > 0)) != better)
      return fmt::format(", but {}", both_at_the_end(each));
  }
  return {};
}

/// `tokens_per_s 2.05e+03 (...) against 4.1e+03 (...), x 0.5`
std::string cost_text(const Comparison& comparison) {
  const compare::Level& level = comparison.levels[*comparison.cost];
  const bool memory =
      level.role == record::Role::memory_bytes || level.role == record::Role::host_memory_bytes;
  const bool rate = level.role != record::Role::step_time_s && !memory;
  const double times = rate ? 1 / level.ratio() : level.ratio();
  return fmt::format("B {} {} {}: {} {} against {}; the outcomes do not differ beyond noise",
                     memory ? "needs" : "takes", core::show_number(times, 3),
                     memory ? "times the memory" : "times as long", core::sanitize(level.name),
                     show_level(level, level.b), show_level(level, level.a));
}

bool is_pace(const compare::Level& level) {
  return level.role == record::Role::step_time_s || level.role == record::Role::tokens_per_s ||
         level.role == record::Role::samples_per_s;
}

/// Of times and rates the first that is far less steady in B than in A.
const compare::Level* unsteady_level(const Comparison& comparison) {
  constexpr double k_unsteady = 0.2;  // judgement: between the quartiles, of the median
  constexpr double k_times = 3;       // judgement: of the scatter of A
  const auto scatter = [](const compare::Level::Side& side) {
    return side.median > 0 ? (side.high - side.low) / side.median : 0;
  };
  for (const compare::Level& level : comparison.levels) {
    if (is_pace(level) && scatter(level.b) > k_unsteady &&
        scatter(level.b) > k_times * scatter(level.a))
      return &level;
  }
  return nullptr;
}

/// What B wins where the outcomes are the same: `; B is 1.95 times as fast`; and a speed that is far
/// less steady than A's. A tenth is the least that compiling is worth (10 to 20 %, the bf16
/// stability checklist).
std::string pace_text(const Comparison& comparison) {
  constexpr double k_faster = 1.1;
  const auto told = [](const compare::Level& level) {
    return fmt::format("{} {} against {}", core::sanitize(level.name), show_level(level, level.b),
                       show_level(level, level.a));
  };
  for (const compare::Level& level : comparison.levels) {
    if (!is_pace(level)) continue;
    const bool time = level.role == record::Role::step_time_s;
    const double faster = time ? 1 / level.ratio() : level.ratio();
    if (level.clear() && faster >= k_faster)
      return fmt::format("; B is {} times as fast: {}", core::show_number(faster, 3), told(level));
  }
  const compare::Level* unsteady = unsteady_level(comparison);
  return unsteady == nullptr ? std::string() : "; the speed of B is not steady: " + told(*unsteady);
}

/// The steps at which runs end in NaN, those of further runs too; empty unless A and B both do.
std::vector<std::int64_t> lost_steps(const Comparison& comparison) {
  if (!comparison.lost_a || !comparison.lost_b) return {};
  std::vector<std::int64_t> steps = {*comparison.lost_a, *comparison.lost_b};
  steps.insert(steps.end(), comparison.lost_further.begin(), comparison.lost_further.end());
  return steps;
}

/// Runs that end in NaN, not all at one step.
bool lost_apart(const Comparison& comparison) {
  const std::vector<std::int64_t> steps = lost_steps(comparison);
  return std::any_of(steps.begin(), steps.end(), [&](auto each) { return each != steps[0]; });
}

/// At the same step.
bool lost_together(const Comparison& comparison) {
  return !lost_steps(comparison).empty() && !lost_apart(comparison);
}

const SettingDifference* first_of(const Comparison& comparison, Reach reach) {
  const auto& all = comparison.settings;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.reach == reach; });
  return found == all.end() ? nullptr : &*found;
}

/// Both state a seed, and not the same: the order of the data differs.
bool seeds_differ(const Comparison& comparison) {
  const SettingDifference* seed = first_of(comparison, Reach::seed);
  return seed != nullptr && seed->a && seed->b;
}

std::string lost_apart_text(const Comparison& comparison) {
  std::string text = fmt::format(
      "both break: {} is NaN or Inf from step {} on in A and from step {} on in B",
      core::sanitize(comparison.leading().name), *comparison.lost_a, *comparison.lost_b);
  if (!comparison.lost_further.empty())
    text += fmt::format(", in further runs from step {}", fmt::join(comparison.lost_further, ", "));
  return text;
}

std::string lost_apart_advice(const Comparison& comparison) {
  if (seeds_differ(comparison))
    return "the seeds differ, and with them the order of the data: run both with one seed; the "
           "same step is that batch, another step is numerics";
  return "what moves from run to run is no bad sample, which would come at the same step: look at "
         "numerics (a learning rate at the edge, 16-bit overflow; one run in fp32 tells), then at "
         "a race or the machine";
}

std::string lost_together_advice(const Comparison& comparison) {
  if (seeds_differ(comparison))
    return fmt::format(
        "the order of the data differs and the step, {}, does not: no sample, but the schedule, "
        "the optimisation or the number format; lower the learning rate, or run in fp32",
        *comparison.lost_a);
  return fmt::format(
      "replay the batch of step {} alone and look at it: with the same order of the data, a step "
      "that breaks each time points to the batch",
      *comparison.lost_a);
}

std::string differ_text(const Comparison& comparison) {
  if (comparison.cost) return cost_text(comparison);
  if (lost_apart(comparison)) return lost_apart_text(comparison);
  const Metric& lead = comparison.leading();
  const compare::Ending& end = lead.ending;
  if (std::isnan(end.a) != std::isnan(end.b)) {
    const bool b_broke = std::isnan(end.b);
    return fmt::format("{} breaks: {} ends in NaN or Inf, where {} ends at {}{}",
                       b_broke ? "B" : "A", core::sanitize(lead.name), b_broke ? "A" : "B",
                       core::show_number(b_broke ? end.a : end.b), apart_from(comparison, lead));
  }
  if ((end.a == 0) != (end.b == 0) && lead.better < 0) {
    const bool b_is_zero = end.b == 0;
    return fmt::format("{} trains nothing: its {} is exactly 0 at the end, where {} ends at {}{}",
                       b_is_zero ? "B" : "A", core::sanitize(lead.name), b_is_zero ? "A" : "B",
                       core::show_number(b_is_zero ? end.a : end.b), apart_from(comparison, lead));
  }
  const bool better = (end.difference() > 0) == (lead.better > 0);
  const double times = std::fabs(end.difference()) / end.noise;
  const std::string size =
      end.noise > 0 && times < 1e4 ? fmt::format(", {:.3g} x its noise", times) : "";
  return fmt::format("B is {}: {} at the end ({}{}){}{}", better ? "better" : "worse",
                     both_at_the_end(lead), signed_number(end.difference()), size,
                     against_it(comparison, better), apart_from(comparison, lead));
}

/// `optim.lr (0.003 in A, 10 in B)`
std::string sides_of(const SettingDifference& difference) {
  const auto value = [](const auto& side) {
    return side ? core::shorten(core::sanitize(core::show(side->value)), 40)
                : std::string("not stated");
  };
  return fmt::format("{} ({} in A, {} in B)", difference.name, value(difference.a),
                     value(difference.b));
}

std::size_t count_of(const Comparison& comparison, Reach reach) {
  return static_cast<std::size_t>(
      std::count_if(comparison.settings.begin(), comparison.settings.end(),
                    [&](const auto& each) { return each.reach == reach; }));
}

/// What ails the worse run and not the other; null where that is not known.
const compare::Ailment* ailment_of_worse(const Comparison& comparison) {
  const std::optional<compare::Side> worse = compare::worse_of(comparison);
  if (!worse) return nullptr;
  const bool is_a = *worse == compare::Side::a;
  const auto& ailment = is_a ? comparison.ails_a : comparison.ails_b;
  const auto& other = is_a ? comparison.ails_b : comparison.ails_a;
  if (!ailment || (other && other->cause == ailment->cause)) return nullptr;
  return &*ailment;
}

/// The setting that tells the two apart and that the ailment's first remedy would change.
const SettingDifference* setting_behind(const Comparison& comparison,
                                        const compare::Ailment& ailment) {
  const auto found = std::find_if(
      comparison.settings.begin(), comparison.settings.end(), [&](const auto& difference) {
        return difference.reach == Reach::training &&
               std::find(ailment.sets.begin(), ailment.sets.end(), difference.name) !=
                   ailment.sets.end();
      });
  return found == comparison.settings.end() ? nullptr : &*found;
}

/// `B: the model learns its data by heart (84 %): train.epochs (3 in A, 12 in B). ...`
std::string ailment_text(const Comparison& comparison, const compare::Ailment& ailment) {
  const char side = *compare::worse_of(comparison) == compare::Side::a ? 'A' : 'B';
  std::string text = fmt::format("{}: {} ({})", side, core::sanitize(ailment.title),
                                 show_percent(ailment.probability));
  if (const SettingDifference* behind = setting_behind(comparison, ailment))
    text += ": " + sides_of(*behind);
  if (!ailment.first_fix.empty()) text += ". " + as_sentence(ailment.first_fix);
  return text;
}

/// Where both runs have one ailment, no difference between them explains it.
std::string shared_ailment(const Comparison& comparison) {
  if (!comparison.ails_a || !comparison.ails_b) return {};
  if (comparison.ails_a->cause != comparison.ails_b->cause) return {};
  return fmt::format(
      "both have one trouble: {} ({} and {})", core::sanitize(comparison.ails_a->title),
      show_percent(comparison.ails_a->probability), show_percent(comparison.ails_b->probability));
}

std::string suspect_text(const Comparison& comparison) {
  if (const SettingDifference* first = first_of(comparison, Reach::training)) {
    const std::size_t all = count_of(comparison, Reach::training);
    std::string text = "look first at " + sides_of(*first);
    if (all > 1) text += fmt::format(", the first of {} differences that change training", all);
    return text + "; make it equal and run again";
  }
  if (comparison.a.settings == 0 || comparison.b.settings == 0) {
    return fmt::format(
        "no configuration of {} was read: give the run folder, or a file that holds "
        "the settings beside the log",
        comparison.a.settings > 0   ? "B"
        : comparison.b.settings > 0 ? "A"
                                    : "either");
  }
  for (const Reach reach : {Reach::environment, Reach::execution}) {
    if (const SettingDifference* first = first_of(comparison, reach))
      return "no setting that changes training differs; look at " + sides_of(*first);
  }
  if (comparison.bits.difference && comparison.bits.last) {
    return fmt::format(
        "no setting differs: look at what happens between {} and {} (a restart, a batch, kernels "
        "that are not deterministic), then at code and data order",
        show_place(comparison.axis, *comparison.bits.last),
        show_place(comparison.axis, *comparison.bits.difference));
  }
  return "no setting differs, and yet the runs do from the start: compare code, data and first "
         "weights";
}

/// What speed and memory depend on first.
std::string cost_advice(const Comparison& comparison) {
  const SettingDifference* first = first_of(comparison, Reach::training);
  for (const Reach reach : {Reach::environment, Reach::execution}) {
    if (first == nullptr) first = first_of(comparison, reach);
  }
  if (first != nullptr) return "look first at " + sides_of(*first);
  return "look at what both cost: the attention kernel (eager takes about twice as long as "
         "FlashAttention-2), the form of the weights, the machine and who shares it";
}

std::string differ_advice(const Comparison& comparison) {
  if (comparison.cost && ailment_of_worse(comparison) == nullptr) return cost_advice(comparison);
  if (lost_apart(comparison)) return lost_apart_advice(comparison);
  if (const compare::Ailment* ailment = ailment_of_worse(comparison))
    return ailment_text(comparison, *ailment);
  const compare::Ending& end = comparison.leading().ending;
  if (end.basis == Basis::within && count_of(comparison, Reach::training) == 0 &&
      first_of(comparison, Reach::seed) != nullptr) {
    return "only the seed differs: give runs of A with further seeds (--noise RUN...) before this "
           "counts as a difference";
  }
  std::string suspect = suspect_text(comparison);
  if (const std::string shared = shared_ailment(comparison); !shared.empty())
    return fmt::format("{}; between the two, {}", shared, suspect);
  if (std::isnan(end.a) == std::isnan(end.b)) return suspect;
  return fmt::format("{}; `aplomb diagnose` on {} says why it broke", suspect,
                     std::isnan(end.b) ? "B" : "A");
}

/// What is no outcome and differs all the same: the collapse that the reward does not show yet.
std::string signals_beyond(const Comparison& comparison) {
  std::string names;
  for (const Metric& each : comparison.metrics) {
    if (each.outcome || !each.beyond || each.role == record::Role::other ||
        each.role == record::Role::lr)
      continue;
    names += (names.empty() ? "" : ", ") + core::sanitize(each.name);
  }
  return names;
}

std::string same_advice(const Comparison& comparison) {
  if (const std::string shared = shared_ailment(comparison); !shared.empty())
    return fmt::format("{}; that they are the same does not make them sound: {}", shared,
                       as_sentence(comparison.ails_a->first_fix));
  const std::string signals = signals_beyond(comparison);
  if (!signals.empty())
    return fmt::format("before B replaces A look at what differs beside the outcome: {}", signals);
  if (unsteady_level(comparison) != nullptr)
    return "look at what slows B within the run: the wait for data, memory that fills up, lengths "
           "that grow, a machine that others share; tokens per second should be about one number "
           "from step to step";
  if (comparison.leading().ending.basis == Basis::seeds)
    return "nothing: B is what a further seed of A could be";
  if (comparison.leading().ending.basis == Basis::groups)
    return "nothing: seeds of one configuration end as far apart as these two do";
  return "nothing; to see smaller differences give 3 or more runs of A with other seeds (--noise "
         "RUN...)";
}

std::string groups_noise(const Comparison& comparison) {
  const compare::Ending& end = comparison.leading().ending;
  const std::string how = end.runs_a == 1 ? "Student's t, A judged as a further run of B's"
                                          : "Welch's t on the means of both sides";
  return fmt::format(
      "{} run{} of A against {} of B ({}, {} degrees of freedom, {:.0f} % error over {} outcome{})",
      end.runs_a, end.runs_a == 1 ? "" : "s", end.runs_b, how, core::show_number(end.freedom, 2),
      100 * compare::k_level_seeds, comparison.outcomes, comparison.outcomes == 1 ? "" : "s");
}

}  // namespace

std::string show_place(compare::Axis axis, double at) {
  return axis == compare::Axis::step ? fmt::format("step {:.0f}", at) : show_count(at) + " tokens";
}

std::string show_level(const compare::Level& level, const compare::Level::Side& side) {
  if (level.role == record::Role::memory_bytes || level.role == record::Role::host_memory_bytes)
    return core::show_bytes(side.most) + " at most";
  return fmt::format("{} ({} to {})", core::show_number(side.median, 3),
                     core::show_number(side.low, 3), core::show_number(side.high, 3));
}

std::string compare_headline(const Comparison& comparison) {
  const Metric& lead = comparison.leading();
  switch (comparison.verdict) {
    case Judgement::identical:
      return identical_text(comparison);
    case Judgement::differ:
      return differ_text(comparison);
    case Judgement::same:
      return fmt::format("no difference beyond noise: {} at the end ({}, {}){}",
                         both_at_the_end(lead), signed_number(lead.ending.difference()),
                         show_p(lead.ending.p), pace_text(comparison));
    case Judgement::unknown:
      break;
  }
  if (!lead.outcome)
    return "the runs have no loss, evaluation or reward in common: whether one is better cannot be "
           "said";
  if (lost_apart(comparison)) return lost_apart_text(comparison);
  if (lost_together(comparison))
    return fmt::format(
        "both break at the same step: {} is NaN or Inf from step {} on in A and in B",
        core::sanitize(lead.name), *comparison.lost_a);
  return fmt::format("too few samples in common to tell a difference from noise: {} at the end",
                     both_at_the_end(lead));
}

std::string compare_advice(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Judgement::identical:
      if (const SettingDifference* first = first_of(comparison, Reach::training);
          first != nullptr && first->a && first->b)
        return fmt::format("nothing; but {}, which should show: see that it is what really ran",
                           sides_of(*first));
      return "nothing: what differs between the two has no effect on training";
    case Judgement::differ:
      return differ_advice(comparison);
    case Judgement::same:
      return same_advice(comparison);
    case Judgement::unknown:
      break;
  }
  if (!comparison.leading().outcome) return "compare runs that measure the same thing";
  if (lost_apart(comparison)) return lost_apart_advice(comparison);
  if (lost_together(comparison)) return lost_together_advice(comparison);
  return "log more often, or give runs of A with other seeds (--noise RUN...)";
}

std::string compare_noise(const Comparison& comparison) {
  const compare::Ending& end = comparison.leading().ending;
  if (comparison.verdict == Judgement::identical) return {};
  if (end.basis == Basis::seeds) {
    const double runs = end.freedom + 1;
    std::string text = fmt::format(
        "{:.0f} runs of A's configuration: B is judged as a further one (Student's t, {:.0f} "
        "degree{} of freedom, {:.0f} % error over {} outcome{})",
        runs, end.freedom, end.freedom == 1 ? "" : "s", 100 * compare::k_level_seeds,
        comparison.outcomes, comparison.outcomes == 1 ? "" : "s");
    if (runs < 4) text += "; so few see large differences only, 3 further seeds see far more";
    return text;
  }
  if (end.basis == Basis::groups) return groups_noise(comparison);
  if (end.basis == Basis::within)
    return fmt::format(
        "the scatter inside the two runs (Student's t on the paired differences of the last {} "
        "samples, {:.0f} % error). It cannot tell how far two seeds of one configuration end "
        "apart: a difference may be a seed's. --noise with other seeds of A tells",
        end.samples, 100 * compare::k_level_within);
  return {};
}

}  // namespace aplomb::report

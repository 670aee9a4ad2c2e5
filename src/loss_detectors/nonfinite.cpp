/// First NaN or Inf in loss, gradient norm, evaluation loss, any loss component or other metric;
/// which came first, and whether anything rose before it. Which went first tells forward from
/// backward; a gradient norm that rises before the NaN tells an optimisation blow-up from a bad
/// sample.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/kept.h"
#include "detectors/rise_watch.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_share_failed = 0.2;  // one step in five lost is no longer training
// torch.amp.GradScaler tries a larger scale every 2,000 steps and loses one step each time; finding
// the scale at the start of a short run costs more. Two in a hundred is still that bookkeeping.
constexpr double k_share_of_overflows = 0.02;
// From DeepSpeed's first scale, 2^32, to 1 (torch's is 2^16).
constexpr std::uint64_t k_most_halvings = 32;
constexpr std::uint64_t k_settled = 4;  // times as many finite ones behind them
constexpr double k_rising = 0.75;       // of all bad samples in the second half
constexpr std::uint64_t k_least_rising = 10;
constexpr std::uint64_t k_back = 3;  // finite samples in a row after which a series has recovered
constexpr std::int64_t k_early_step =
    100;  // "no NaN in the first 100 steps" is the guides' criterion of stability
constexpr std::int64_t k_at_once_step = 10;
/// Of the first loss: a loss on its way to overflow has left the range in which it began.
constexpr double k_above_start = 1.3;

const detectors::DetectorSpec& nonfinite_spec() {
  static const detectors::DetectorSpec spec{
      "nonfinite",
      {"loss.nonfinite", "grad_norm.nonfinite", "eval_loss.nonfinite", "component.nonfinite",
       "metric.nonfinite", "nonfinite.onset"},
      "The first NaN or Inf of each metric, and what went first",
      "After one non-finite update every weight that it touched is lost; all later steps are "
      "wasted.",
      "loss 1.81, 1.79, nan, nan",
      {record::Role::loss,
       record::Role::grad_norm,
       record::Role::eval_loss,
       record::Role::loss_component,
       record::Role::eval_component,
       record::Role::perplexity,
       record::Role::reward,
       record::Role::entropy,
       record::Role::kl,
       record::Role::value_loss,
       record::Role::eval_metric,
       record::Role::accuracy,
       record::Role::eval_accuracy,
       record::Role::param_norm,
       record::Role::other,
       record::Role::cfm_loss,
       record::Role::alignment,
       record::Role::diversity,
       record::Role::reward_component,
       record::Role::logp_difference},
      {{"share_failed", k_share_failed, "fraction", 0, 1,
        "more than one lost step in five: the run does not train even if the loss comes back"},
       {"share_of_overflows", k_share_of_overflows, "fraction", 0, 1,
        "GradScaler's growth interval is 2,000 steps; short runs pay more for calibration"},
       {"most_halvings", static_cast<double>(k_most_halvings), "steps", 0, 64,
        "DeepSpeed's initial loss scale, 2^32, halved down to 1"},
       {"rising", k_rising, "fraction", 0.5, 1,
        "of all in the second half; the precision and stability notes P14: a rising share is "
        "systematic, not stray data"},
       {"back", static_cast<double>(k_back), "samples", 1, 100,
        "shortest tail that shows a recovery"},
       {"early_step", static_cast<double>(k_early_step), "steps", 1, 1e6,
        "success criterion of the bf16 stability checklist: no NaN in 100 steps"}},
      {"https://docs.pytorch.org/docs/stable/notes/amp_examples.html"}};
  return spec;
}

/// What is known of one series.
struct Watch {
  record::Role role = record::Role::other;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t bad = 0;
  std::uint64_t finite_run = 0;  // finite samples since the last bad one
  std::uint64_t returns = 0;     // times that a finite sample follows a bad one
  std::uint64_t first_index = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  bool infinite = false;  // the first bad one was Inf
  bool has_before = false;
  detectors::Sample before;  // last finite one before the first bad one
  detectors::Kept bad_at;    // numbers of the bad samples
  record::Origin first;
  record::Origin last;
};

std::string_view id_of(record::Role role) {
  switch (role) {
    case record::Role::loss:
      return "loss.nonfinite";
    case record::Role::grad_norm:
      return "grad_norm.nonfinite";
    case record::Role::eval_loss:
      return "eval_loss.nonfinite";
    case record::Role::loss_component:
    case record::Role::eval_component:
      return "component.nonfinite";
    default:
      return "metric.nonfinite";
  }
}

/// Enough finite samples in a row after the last bad one.
bool recovers(const Watch& watch) { return watch.finite_run >= k_back; }

double bad_share(const Watch& watch) {
  return static_cast<double>(watch.bad) / static_cast<double>(watch.count);
}

/// They come and go, and more often as the run goes on.
bool is_rising(const Watch& watch) {
  if (watch.bad < k_least_rising || watch.returns < k_back) return false;
  std::size_t later = 0;
  for (const detectors::Sample& each : watch.bad_at.samples())
    later += 2 * each.value > static_cast<double>(watch.count) ? 1 : 0;
  return static_cast<double>(later) > k_rising * static_cast<double>(watch.bad_at.size());
}

core::Severity loss_severity(const Watch& watch) {
  if (!recovers(watch) || bad_share(watch) > k_share_failed) return core::Severity::failed;
  return watch.bad == 1 ? core::Severity::warning : core::Severity::unstable;
}

/// Dynamic loss scaling looks for its scale by overflowing from the first step on, and then no more.
/// The steps are skipped: the loss stays finite, or its own watch says otherwise.
bool is_calibration(const Watch& watch) {
  return watch.first_index == 0 && watch.returns == 1 && watch.bad <= k_most_halvings &&
         watch.finite_run >= k_settled * watch.bad && watch.bad + watch.finite_run == watch.count;
}

/// Dynamic loss scaling meets an overflow now and then and skips the step: that is how it works.
core::Severity grad_norm_severity(const Watch& watch) {
  if (is_calibration(watch)) return core::Severity::note;
  const double share = bad_share(watch);
  const bool lasting = !recovers(watch);
  if (watch.bad >= 3 && (lasting || share > k_share_failed)) return core::Severity::failed;
  if (lasting) return watch.bad > 1 ? core::Severity::unstable : core::Severity::warning;
  return watch.bad <= 3 || share < k_share_of_overflows ? core::Severity::note
                                                        : core::Severity::warning;
}

core::Severity part_severity(const Watch& watch) {
  const bool lasting = !recovers(watch);
  if (lasting && (watch.bad > 1 || watch.role == record::Role::loss_component))
    return core::Severity::failed;
  return lasting || bad_share(watch) > k_share_failed ? core::Severity::unstable
                                                      : core::Severity::warning;
}

core::Severity severity_of(const Watch& watch, const detectors::RunContext& context) {
  const bool lasting = !recovers(watch);
  switch (watch.role) {
    case record::Role::loss:
      return loss_severity(watch);
    case record::Role::grad_norm:
      return grad_norm_severity(watch);
    case record::Role::eval_loss:
    case record::Role::loss_component:
      return part_severity(watch);
    case record::Role::reward:
    case record::Role::entropy:
    case record::Role::kl:
    case record::Role::value_loss:
    case record::Role::cfm_loss:
      return lasting && context.reinforcement ? core::Severity::unstable : core::Severity::warning;
    case record::Role::eval_component:
    case record::Role::eval_metric:
    case record::Role::perplexity:
    case record::Role::param_norm:
      return lasting ? core::Severity::warning : core::Severity::note;
    default:
      return core::Severity::note;
  }
}

/// Which kinds of series are not finite in one frame.
struct BadKinds {
  bool loss = false;
  bool grad_norm = false;
  bool component = false;
  bool eval = false;
  record::Origin origin;  // of the last bad one

  bool any() const { return loss || grad_norm || component || eval; }
};

BadKinds bad_kinds(const detectors::Frame& frame) {
  BadKinds kinds;
  for (const detectors::Reading& reading : frame.readings) {
    if (std::isfinite(reading.value)) continue;
    kinds.loss = kinds.loss || reading.role == record::Role::loss;
    kinds.grad_norm = kinds.grad_norm || reading.role == record::Role::grad_norm;
    kinds.component = kinds.component || reading.role == record::Role::loss_component;
    kinds.eval = kinds.eval || reading.role == record::Role::eval_loss;
    kinds.origin = reading.origin;
  }
  return kinds;
}

bool all_components_bad(const detectors::Frame& frame) {
  return std::none_of(frame.readings.begin(), frame.readings.end(),
                      [](const detectors::Reading& reading) {
                        return reading.role == record::Role::loss_component &&
                               std::isfinite(reading.value) && reading.value != 0;
                      });
}

/// With a part and the sum the part is the origin, unless every part went (then the network's
/// output did).
std::string_view first_kind(const BadKinds& kinds, const detectors::Frame& frame) {
  if (kinds.component && kinds.loss && !all_components_bad(frame)) return "component";
  if (kinds.loss) return kinds.grad_norm ? "both" : "loss";
  if (kinds.grad_norm) return "grad_norm";
  return kinds.component ? "component" : "eval_loss";
}

class NonfiniteDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return nonfinite_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (is_training(frame) && frames_++ == 0) first_step_ = frame.step;
    bool fresh = false;
    for (const detectors::Reading& reading : frame.readings)
      fresh = look(frame, reading, context) || fresh;
    if (fresh) {
      for (const Watch& watch : watches_) {
        if (watch.bad == 1 && watch.finite_run == 0) out.push_back(describe(watch, context));
      }
      if (!onset_known_) note_onset(frame);
    }
    // The rises are asked before this frame's samples enter them: they are about what came before.
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      loss_rise_.add(frame.step, loss->value);
      if (!has_first_loss_) first_loss_ = loss->value;
      has_first_loss_ = true;
      last_loss_ = loss->value;
    }
    if (const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm))
      grad_rise_.add(frame.step, norm->value);
  }

  /// What lasts has become worse than its first value was told to be. Where nothing was finite yet a
  /// loss scale may still be looked for.
  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    for (const Watch& watch : watches_) {
      const bool searching = watch.role == record::Role::grad_norm && watch.bad == watch.count &&
                             watch.bad <= k_most_halvings;
      if (watch.bad > 1 && !recovers(watch) && !searching) out.push_back(describe(watch, context));
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    for (const Watch& watch : watches_) {
      if (watch.bad > 0) out.push_back(describe(watch, context));
    }
    if (onset_known_) out.push_back(describe_onset(context));
  }

 private:
  Watch& watch_of(const detectors::Reading& reading, const detectors::RunContext& context) {
    if (reading.series >= index_.size()) index_.resize(reading.series + 1, -1);
    if (index_[reading.series] < 0) {
      index_[reading.series] = static_cast<std::int32_t>(watches_.size());
      watches_.emplace_back();
      watches_.back().role = reading.role;
      watches_.back().name = series_name(context, reading, name(reading.role));
    }
    return watches_[static_cast<std::size_t>(index_[reading.series])];
  }

  /// True when this is the first non-finite sample of its series.
  bool look(const detectors::Frame& frame, const detectors::Reading& reading,
            const detectors::RunContext& context) {
    Watch& watch = watch_of(reading, context);
    ++watch.count;
    if (std::isfinite(reading.value)) {
      if (watch.bad > 0 && watch.finite_run == 0) ++watch.returns;
      ++watch.finite_run;
      if (watch.bad == 0) {
        watch.has_before = true;
        watch.before = sample_of(frame, reading);
      }
      return false;
    }
    watch.finite_run = 0;
    watch.bad_at.add({static_cast<double>(watch.count), frame.step, reading.origin});
    watch.last_step = frame.step;
    watch.last = reading.origin;
    if (++watch.bad > 1) return false;
    watch.first_index = watch.count - 1;
    watch.first_step = frame.step;
    watch.first = reading.origin;
    watch.infinite = std::isinf(reading.value);
    return true;
  }

  /// Which pass makes it, by which of loss and gradient norm went first: a norm without a value beside
  /// a finite loss comes of the backward pass; a loss without one, where the norms were finite until
  /// then, of the forward pass (axolotl's training stability guide).
  std::string_view pass_of(const Watch& watch) const {
    if (!onset_known_ || watch.first_index == 0 || watch.first_step != onset_step_) return {};
    if (watch.role == record::Role::grad_norm && first_ == "grad_norm")
      return "; the loss is finite there: it arises in the backward pass";
    const bool loss_went = first_ == "both" || first_ == "loss";
    const bool norms_were_finite =
        std::any_of(watches_.begin(), watches_.end(), [](const Watch& other) {
          return other.role == record::Role::grad_norm && other.has_before;
        });
    if (watch.role == record::Role::loss && loss_went && norms_were_finite)
      return "; the gradient norm was finite until then: it arises in the forward pass";
    return {};
  }

  detectors::Symptom describe(const Watch& watch, const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = id_of(watch.role);
    symptom.severity = severity_of(watch, context);
    symptom.first_step = watch.first_step;
    symptom.last_step = watch.last_step;
    symptom.series = watch.name;
    const char* kind = watch.infinite ? "inf" : "nan";
    auto& measures = symptom.measures;
    measures["step"] = static_cast<double>(watch.first_step);
    measures["index"] = static_cast<double>(watch.first_index);
    measures["kind"] = std::string(kind);
    measures["count"] = static_cast<double>(watch.bad);
    measures["share"] = bad_share(watch);
    measures["first_sample"] = watch.first_index == 0;
    measures["recovers"] = recovers(watch);
    measures["returns"] = static_cast<double>(watch.returns);
    if (watch.has_before) measures["before"] = watch.before.value;
    if (watch.role == record::Role::loss) measures["rising"] = is_rising(watch);
    if (watch.role == record::Role::loss_component || watch.role == record::Role::eval_component) {
      measures["name"] = watch.name;
      measures["only"] = only_one_of_its_kind(watch);
    } else if (symptom.id == "metric.nonfinite") {
      measures["name"] = watch.name;
    }
    symptom.summary =
        watch.first_index == 0
            ? fmt::format("{} is {} from the first value on ({})", watch.name, kind,
                          at_step(context, watch.first_step))
            : fmt::format("{} {} -> {} at {}", watch.name, core::show_number(watch.before.value),
                          kind, at_step(context, watch.first_step));
    symptom.summary += fmt::format(", {} of {} values", watch.bad, watch.count);
    if (recovers(watch)) symptom.summary += ", then finite again";
    symptom.summary += pass_of(watch);
    if (watch.has_before) add_evidence(symptom, watch.before.origin);
    add_evidence(symptom, watch.first);
    if (watch.bad > 1) add_evidence(symptom, watch.last);
    return symptom;
  }

  bool only_one_of_its_kind(const Watch& watch) const {
    return std::none_of(watches_.begin(), watches_.end(), [&](const Watch& other) {
      return &other != &watch && other.role == watch.role && other.bad > 0 &&
             other.first_step <= watch.first_step;
    });
  }

  void note_onset(const detectors::Frame& frame) {
    const BadKinds kinds = bad_kinds(frame);
    if (!kinds.any()) return;
    onset_known_ = true;
    onset_step_ = frame.step;
    onset_index_ = frames_ == 0 ? 0 : frames_ - 1;
    onset_origin_ = kinds.origin;
    first_ = first_kind(kinds, frame);
    grad_before_ = grad_rise_.now();
    loss_before_ = loss_rise_.now();
    const detectors::Reading* loss =
        finite_of(frame, record::Role::loss);  // beside a norm that is not finite
    const double latest = loss != nullptr ? loss->value : last_loss_;
    above_start_ = has_first_loss_ && latest > k_above_start * first_loss_;
  }

  static bool is_training(const detectors::Frame& frame) {
    return reading_of(frame, record::Role::loss) != nullptr ||
           reading_of(frame, record::Role::grad_norm) != nullptr ||
           reading_of(frame, record::Role::loss_component) != nullptr;
  }

  std::string_view onset_word(const detectors::RunContext& context) const {
    const std::int64_t interval = context.log_steps.value_or(1);
    const bool starts_late = !(context.step_kind == record::StepKind::epoch) &&
                             first_step_ > std::max(k_early_step, 2 * interval);
    if (onset_index_ == 0 && starts_late) return "before-log";
    // A record of step 50 and one of step 51: the log begins in mid-run, and so does the trouble.
    const bool from_start = (context.step_kind == record::StepKind::epoch) ||
                            first_step_ <= std::max(k_at_once_step, interval);
    if (onset_index_ == 0 || (onset_index_ == 1 && from_start) ||
        (!(context.step_kind == record::StepKind::epoch) &&
         onset_step_ <= std::min(k_at_once_step, interval)))
      return "immediate";
    if ((context.step_kind == record::StepKind::epoch)) return onset_index_ <= 3 ? "early" : "late";
    return onset_step_ <= k_early_step || onset_index_ <= 10 ? "early" : "late";
  }

  detectors::Symptom describe_onset(const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "nonfinite.onset";
    symptom.severity = core::Severity::note;
    symptom.first_step = onset_step_;
    symptom.last_step = onset_step_;
    const std::string_view when = onset_word(context);
    auto& measures = symptom.measures;
    measures["first"] = first_;
    measures["onset"] = std::string(when);
    measures["step"] = static_cast<double>(onset_step_);
    measures["index"] = static_cast<double>(onset_index_);
    measures["grad_rise_before"] = grad_before_.rising;
    measures["loss_rise_before"] = loss_before_.rising;
    measures["above_start"] = above_start_;
    if ((context.step_kind == record::StepKind::epoch))
      measures["passes"] =
          static_cast<double>(std::max<std::int64_t>(0, onset_step_ - first_step_));
    if (const auto& pass = context.task.steps_per_pass;
        pass && context.step_kind == record::StepKind::explicit_)
      measures["passes"] = std::floor(static_cast<double>(onset_step_ - first_step_) / pass->value);
    measures["after_first_update"] =
        onset_index_ == 1 && onset_step_ - first_step_ <= 1 && first_step_ <= 1;
    const detectors::Rise& rise = grad_before_.rising ? grad_before_ : loss_before_;
    if (rise.rising) {
      measures["rise_ratio"] = rise.ratio;
      measures["lead_steps"] = static_cast<double>(onset_step_ - rise.since);
      measures["slow_rise"] = rise.slow;
    }
    symptom.summary =
        fmt::format("first non-finite value at {}: {}", at_step(context, onset_step_), first_);
    if (rise.rising) {
      symptom.summary += fmt::format(
          "; {} rose {}x over the {} {}s before", grad_before_.rising ? "grad_norm" : "loss",
          core::show_number(rise.ratio, 2), onset_step_ - rise.since, context.step_word());
    } else if (onset_index_ > 2) {
      symptom.summary += "; nothing rose before it";
    }
    add_evidence(symptom, onset_origin_);
    return symptom;
  }

  std::vector<Watch> watches_;
  std::vector<std::int32_t> index_;  // by series: place in watches_, -1 for none
  detectors::RiseWatch loss_rise_;
  /// Norms drift by half their size in healthy runs; only a doubling is a warning.
  detectors::RiseWatch grad_rise_{2.0};
  std::uint64_t frames_ = 0;  // with a training metric
  std::int64_t first_step_ = 0;
  bool onset_known_ = false;
  std::int64_t onset_step_ = 0;
  std::uint64_t onset_index_ = 0;
  std::string first_;
  detectors::Rise grad_before_;
  detectors::Rise loss_before_;
  record::Origin onset_origin_;
  bool has_first_loss_ = false;
  double first_loss_ = 0;
  double last_loss_ = 0;
  bool above_start_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_nonfinite_detector() {
  return std::make_unique<NonfiniteDetector>();
}

}  // namespace aplomb::loss_detectors

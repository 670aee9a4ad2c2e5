/// The learning rate as it was logged: never above 0, no or hardly any warm-up, a warm-up as long
/// as the run, a schedule that ends before the run, jumps. Most of it is no alarm by itself but
/// what the knowledge base asks for.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_at_peak = 0.9;        // of the peak: there the warm-up is over
constexpr double k_short_warmup = 0.01;  // the precision and stability notes P12: 1-10 % of the
                                         // steps; axolotl's training stability guide: 5-10 %
constexpr double k_ended_share = 0.05;   // of the records at 0 before the end
constexpr double k_ended_long =
    0.2;  // "lr 0 on more than 20 % of records", as real runs were sorted
// Records: a log of fewer may end within any run's warm-up (5 to 10 % of it, by the stability guides).
constexpr std::uint64_t k_few_of_warmup = 30;
constexpr double k_jump = 2.0;
/// x the highest rate before, between two records behind the peak: restarts come back to a peak
/// that was there, and stages that rise do so by less than an order of magnitude.
constexpr double k_wild_jump = 10.0;
// A schedule whose restart is planned comes to its lowest rate first, and there falls no more. The
// bounds are judgement.
constexpr double k_midst = 0.05;  // of the peak: above it the fall was not over
constexpr double k_slope = 0.25;  // of the mean fall since the peak: still falling
constexpr double k_rise_sigmas = 4;
constexpr double k_least_rise = 0.05;
constexpr std::uint64_t k_held = 8;  // records at the peak: it was one
/// A rate that falls by this much from one record to the next and then rises again warms up anew; steps of schedules stay down.
constexpr double k_drop = 5.0;

const detectors::DetectorSpec& lr_schedule_spec() {
  static const detectors::DetectorSpec spec{
      "lr.schedule",
      {"lr.zero_throughout", "lr.no_warmup", "lr.short_warmup", "lr.warmup_whole_run",
       "lr.ends_early", "lr.jump", "lr.falls_from_start"},
      "What the learning-rate schedule really did",
      "A rate of 0 teaches nothing, a full rate from the first step upsets Adam's second moments "
      "before they know "
      "anything.",
      "lr 0.0, 0.0, 0.0 or 3e-4 from step 1 on",
      {record::Role::lr, record::Role::loss},
      {{"at_peak", k_at_peak, "fraction", 0.5, 1, "nine tenths of the peak: warm-up is over"},
       {"short_warmup", k_short_warmup, "fraction", 0, 0.2,
        "the stability guides, 002: 1 to 10 % of the steps"},
       {"ended_share", k_ended_share, "fraction", 0, 1,
        "a cosine or linear schedule touches 0 at its last record only"},
       {"jump", k_jump, "x", 1.1, 100, "schedules change by less between records, but for decays"}},
      {"https://arxiv.org/abs/2309.14322", "https://arxiv.org/abs/1910.04209"}};
  return spec;
}

class LrScheduleDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return lr_schedule_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      loss_.add(frame.step, loss->value);
      latest_.push(loss->value);
      if ((jumps_ > 0 || fall_.open) && !behind_.full()) behind_.push(loss->value);
    }
    const detectors::Reading* lr = finite_of(frame, record::Role::lr);
    if (lr == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *lr);
    if (count_++ == 0) first_ = sample;
    zeros_.add(sample.value <= 0);
    if (is_wild(frame, sample)) {
      wild_ = true;
      jump_ratio_ = 0;  // what is told of is this one
      keep_jump(sample);
      report_jump(context, out);
    }
    if (sample.value > peak_.value * (1 + 1e-9)) {
      peak_ = sample;
      samples_to_peak_ = count_;
      zeros_after_peak_ = 0;
    }
    if (sample.value <= 0 && peak_.value > 0) {
      if (zeros_after_peak_++ == 0) first_zero_ = sample;
    } else {
      zeros_after_peak_ = 0;
    }
    note_warmup_end(sample);
    note_drop(frame, sample);
    note_jump(frame, sample);
    monotone_fall_ = monotone_fall_ && (count_ == 1 || sample.value <= last_.value * (1 + 1e-9));
    before_last_ = last_;
    last_ = sample;
    segment_ = frame.segment;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (count_ < 2) return;
    if (peak_.value <= 0) {
      report_zero(context, out);
      return;
    }
    if (count_ >= 3 && first_.value > 0) report_fall(context, out);
    if (count_ >= 5) report_warmup(context, out);
    report_end(context, out);
    if (jump_ratio_ > 0) report_jump(context, out);
  }

 private:
  /// Far down within one record; `open` until the rate rises again, if it does.
  struct Fall {
    bool open = false;
    bool rose = false;
    detectors::Sample from;
    detectors::Sample to;
  };

  /// The last sample below 90 % of the peak so far before the peak: where the warm-up ended.
  void note_warmup_end(const detectors::Sample& sample) {
    if (samples_to_peak_ == count_) warmup_end_ = sample;
  }

  /// Far down within one record in the midst of the course, and up again from there.
  void note_drop(const detectors::Frame& frame, const detectors::Sample& sample) {
    const bool comparable =
        count_ > 2 && frame.segment == segment_ && sample.value > 0 && peak_.step < last_.step;
    if (!comparable || wild_) return;
    if (last_.value > k_midst * peak_.value && sample.value * k_drop < last_.value) {
      fall_ = {true, fall_.rose, last_, sample};
      before_ = latest_;
      behind_.clear();
    } else if (fall_.open && sample.value >= k_jump * fall_.to.value) {
      fall_.open = false;
      fall_.rose = mid_course_ = true;
      ++jumps_;
      jump_ratio_ = fall_.from.value / fall_.to.value;
      jump_from_ = fall_.from;
      jump_to_ = fall_.to;
    }
  }

  void note_jump(const detectors::Frame& frame, const detectors::Sample& sample) {
    const bool comparable =
        count_ > 2 && frame.segment == segment_ && last_.value > 0 && sample.value > 0;
    // A rise towards the first peak is warm-up; only what had begun to fall can jump up.
    if (!comparable || last_.value >= k_at_peak * peak_.value) return;
    const bool had_peaked = peak_.step < last_.step;
    if (!had_peaked || sample.value < k_jump * last_.value) return;
    if (!wild_) keep_jump(sample);
  }

  void keep_jump(const detectors::Sample& sample) {
    ++jumps_;
    if (sample.value / last_.value <= jump_ratio_) return;
    mid_course_ = falls_still();
    before_ = latest_;
    behind_.clear();
    jump_ratio_ = sample.value / last_.value;
    jump_from_ = last_;
    jump_to_ = sample;
  }

  /// The last rate was on its way down, not at the end of it.
  bool falls_still() const {
    const auto since = static_cast<double>(last_.step - peak_.step);
    const double fall = before_last_.value - last_.value;
    const auto width = static_cast<double>(last_.step - before_last_.step);
    return since > 0 && width > 0 && last_.value > k_midst * peak_.value &&
           fall / width > k_slope * (peak_.value - last_.value) / since;
  }

  /// The loss behind the jump stands above that before it.
  bool loss_rises() const {
    if (before_.size() < 4 || behind_.size() < 4) return false;
    const double rise = behind_.median() - before_.median();
    return rise > k_least_rise * std::fabs(before_.median()) &&
           rise > k_rise_sigmas * before_.spread();
  }

  /// Asked before the sample enters the peak.
  bool is_wild(const detectors::Frame& frame, const detectors::Sample& sample) const {
    if (wild_ || count_ <= 2 || frame.segment != segment_ || !(last_.value > 0)) return false;
    const bool behind_peak =
        last_.value < k_at_peak * peak_.value || count_ - samples_to_peak_ > k_held;
    return behind_peak && sample.value > k_wild_jump * peak_.value;
  }

  bool loss_falls() const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    return curve.size >= 3 && curve.start > 0 && curve.last < 0.97 * curve.start;
  }

  static detectors::Symptom about(std::string id, core::Severity severity,
                                  const detectors::Sample& from, const detectors::Sample& to) {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "lr";
    symptom.first_step = from.step;
    symptom.last_step = to.step;
    add_evidence(symptom, from.origin);
    if (to.step != from.step) add_evidence(symptom, to.origin);
    return symptom;
  }

  void report_zero(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    // Loggers round: a rate of 0.000 beside a falling loss is 1e-6. The first record of a warm-up
    // is rightly 0.
    const bool rounded = loss_falls();
    // In reinforcement learning rates of 1e-6 are the rule, and the loss cannot show whether it was
    // one.
    core::Severity severity = core::Severity::warning;
    if (rounded || context.reinforcement)
      severity = core::Severity::note;
    else if (count_ >= 5 && loss_.count() >= 5)
      severity = core::Severity::unstable;
    detectors::Symptom symptom = about("lr.zero_throughout", severity, first_, last_);
    symptom.measures["count"] = static_cast<double>(count_);
    symptom.measures["rounded"] = rounded;
    symptom.summary = fmt::format("learning rate is 0 in all {} records", count_);
    if (rounded) symptom.summary += ", though the loss falls: rounded by the logger";
    out.push_back(std::move(symptom));
  }

  void report_fall(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    if (!monotone_fall_ || last_.value >= first_.value * 0.999) return;
    detectors::Symptom symptom = about("lr.falls_from_start", core::Severity::note, first_, last_);
    symptom.measures["first"] = first_.value;
    symptom.measures["last"] = last_.value;
    symptom.measures["from_start"] =
        first_.step <= std::max<std::int64_t>(20, (last_.step - first_.step) / 2);
    symptom.summary =
        fmt::format("learning rate only falls: {} at {} to {}", core::show_number(first_.value, 3),
                    at_step(context, first_.step), core::show_number(last_.value, 3));
    out.push_back(std::move(symptom));
  }

  void report_warmup(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    const auto steps = static_cast<double>(last_.step - first_.step);
    const bool from_start = static_cast<double>(first_.step) <= std::max(20.0, 0.1 * steps);
    if (!from_start || steps <= 0) return;
    const double planned = std::max(steps, static_cast<double>(context.planned_steps.value_or(0)));
    const auto warmup = static_cast<double>(warmup_end_.step);
    const double share = warmup / planned;
    if (samples_to_peak_ == 1) {
      detectors::Symptom symptom = about("lr.no_warmup", core::Severity::note, first_, first_);
      symptom.measures["peak"] = peak_.value;
      symptom.summary = fmt::format("learning rate starts at its peak {}: no warm-up",
                                    core::show_number(peak_.value, 3));
      out.push_back(std::move(symptom));
    } else if (samples_to_peak_ == count_) {
      const bool cut_short =
          context.planned_steps && steps < 0.5 * static_cast<double>(*context.planned_steps);
      detectors::Symptom symptom = about(
          "lr.warmup_whole_run",
          cut_short || count_ < k_few_of_warmup ? core::Severity::note : core::Severity::warning,
          first_, last_);
      symptom.measures["peak"] = peak_.value;
      symptom.measures["warmup_steps"] = warmup;
      symptom.summary =
          fmt::format("learning rate still rises at the end ({} at {})",
                      core::show_number(peak_.value, 3), at_step(context, last_.step));
      out.push_back(std::move(symptom));
    } else if (share < k_short_warmup) {
      detectors::Symptom symptom =
          about("lr.short_warmup", core::Severity::note, first_, warmup_end_);
      symptom.measures["peak"] = peak_.value;
      symptom.measures["warmup_steps"] = warmup;
      symptom.measures["share"] = share;
      symptom.summary = fmt::format("warm-up takes {} {}s, {} of the run", warmup,
                                    context.step_word(), detectors::percent(share));
      out.push_back(std::move(symptom));
    }
  }

  void report_end(const detectors::RunContext& context,
                  std::vector<detectors::Symptom>& out) const {
    const double share = static_cast<double>(zeros_after_peak_) / static_cast<double>(count_);
    if (zeros_after_peak_ < 3 || share < k_ended_share) return;
    detectors::Symptom symptom = about(
        "lr.ends_early", share >= k_ended_long ? core::Severity::warning : core::Severity::note,
        first_zero_, last_);
    symptom.measures["share"] = share;
    symptom.measures["from_step"] = static_cast<double>(first_zero_.step);
    symptom.summary = fmt::format("learning rate is 0 from {} on ({} of the records)",
                                  at_step(context, first_zero_.step), detectors::percent(share));
    out.push_back(std::move(symptom));
  }

  void report_jump(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom = about(
        "lr.jump", wild_ ? core::Severity::warning : core::Severity::note, jump_from_, jump_to_);
    symptom.measures["ratio"] = jump_ratio_;
    symptom.measures["count"] = static_cast<double>(jumps_);
    symptom.measures["step"] = static_cast<double>(jump_to_.step);
    symptom.measures["before"] = jump_from_.value;
    symptom.measures["far_above"] = wild_;
    symptom.measures["mid_course"] = mid_course_;
    symptom.measures["loss_rises"] = loss_rises();
    symptom.summary =
        fmt::format("learning rate jumps {} -> {} at {}", core::show_number(jump_from_.value, 3),
                    core::show_number(jump_to_.value, 3), at_step(context, jump_to_.step));
    if (wild_) symptom.summary += ", far above all before";
    if (fall_.rose) symptom.summary += " and rises from there, as a warm-up does";
    out.push_back(std::move(symptom));
  }

  std::uint64_t count_ = 0;
  detectors::Tally zeros_;
  std::uint64_t samples_to_peak_ = 0;
  std::uint64_t zeros_after_peak_ = 0;
  std::uint64_t jumps_ = 0;
  double jump_ratio_ = 0;
  bool wild_ = false;  // the jump went more than k_wild_jump times above the peak
  bool monotone_fall_ = true;
  std::uint16_t segment_ = 0;
  core::BlockSummary loss_;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample before_last_;
  bool mid_course_ = false;  // the largest jump came while the rate still fell
  core::SortedWindow<16> latest_;
  core::SortedWindow<16> before_;  // losses up to that jump
  core::SortedWindow<16> behind_;  // and behind it
  detectors::Sample peak_;
  detectors::Sample warmup_end_;
  detectors::Sample first_zero_;
  detectors::Sample jump_from_;
  detectors::Sample jump_to_;
  Fall fall_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_lr_schedule_detector() {
  return std::make_unique<LrScheduleDetector>();
}

}  // namespace aplomb::gradient_detectors

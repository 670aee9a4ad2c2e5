/// The loss leaves its best level and does not come back: a jump, a ramp or a slow climb. A step to
/// a new level that is not much higher (another mixture of data, a curriculum) is said, and is no
/// alarm.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "detectors/curve.h"
#include "detectors/fresh_start.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_sigma = 6.0;  // of a block's level: a run of noise alone does not reach it
constexpr double k_doubled =
    2.0;  // "the loss more than doubled" is what made real runs count as broken
constexpr double k_slow_ratio = 1.3;
constexpr double k_slow_hint = 1.2;
constexpr double k_sudden_share = 0.6;
constexpr double k_shift_ratio = 1.7;  // a jump up to this is what another mixture of data does
constexpr double k_lost = 0.75;        // of the progress
constexpr double k_progress = 0.1;     // of the start level: below it there was none to lose
constexpr double k_regained = 1.05;    // x the best: not reached again ...
constexpr double k_rest_of_run = 0.8;  // ... in all the rest of the run, which is most of it
constexpr double k_least_rise = 0.05;  // of the level: less is no matter, however certain
constexpr double k_huge = 1e6;         // nats, pixels or dollars: no loss that trains stands there
constexpr std::size_t k_short = 12;    // blocks: fewer are judged value by value

constexpr std::uint64_t k_enough_to_tell = 3;  // samples: fewer may all stand before an explosion
constexpr double k_scatter = 3.0;  // x the first: single batches of such targets vary by less

const detectors::DetectorSpec& loss_divergence_spec() {
  static const detectors::DetectorSpec spec{
      "loss.divergence",
      {"loss.divergence", "loss.level_shift", "loss.huge", "loss.large_scale"},
      "The loss climbs away from its best level and stays up",
      "A diverged run unlearns; everything after the best step is wasted, and its checkpoints are "
      "worse.",
      "loss 2.0, 2.1, 2.4, 3.1, 4.6, 7.0",
      {record::Role::loss, record::Role::perplexity},
      {{"sigma", k_sigma, "sigma", 2, 20, "the customary 6-sigma rule, here of block medians"},
       {"doubled", k_doubled, "x", 1.1, 100, "benchmark here: runs whose loss doubled were broken"},
       {"slow_ratio", k_slow_ratio, "x", 1.05, 10,
        "benchmark here: no healthy real run climbs by 30 %"},
       {"shift_ratio", k_shift_ratio, "x", 1.05, 10,
        "benchmark here: steps between mixtures of data stay below it"},
       {"lost", k_lost, "fraction", 0.1, 1, "most of what was learned is gone"},
       {"rest_of_run", k_rest_of_run, "fraction", 0.3, 1,
        "a collapse early on that the run never makes good; a new mixture later on is another "
        "thing"},
       {"huge", k_huge, "", 1e3, 1e12,
        "losses of real runs in the corpus stay below it unless they exploded"}},
      {"https://arxiv.org/abs/2309.14322", "https://arxiv.org/abs/2304.09871"},
      true};
  return spec;
}

class LossDivergenceDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_divergence_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr && !losses_seen_) {
      const detectors::Reading* perplexity = finite_of(frame, record::Role::perplexity);
      if (perplexity != nullptr) note_size(sample_of(frame, *perplexity), perplexity->value);
    }
    if (loss == nullptr) return;
    losses_seen_ = true;
    if (fresh_.update(frame.segment, loss->value)) {
      judge(context, out);
      blocks_ = core::BlockSummary();
      told_ = false;
    }
    note_size(sample_of(frame, *loss), loss->value);
    note_ends(sample_of(frame, *loss));
    if (blocks_.add(frame.step, loss->value) && !told_) report(context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    judge(context, out);
    if (huge_ == 0 || back_to_earth()) return;
    out.push_back(never_rose() ? describe_scale() : describe_huge(context));
  }

 private:
  /// The last word on this run.
  void judge(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const std::size_t before = out.size();
    report(context, out);
    if (told_ && (out.size() == before || out[before].id != "loss.divergence"))
      out.push_back(detectors::withdrawal("loss.divergence", "loss"));
  }

  void note_size(const detectors::Sample& sample, double value) {
    ++sized_;
    if (std::fabs(value) < k_huge) {
      run_below_huge_++;
      return;
    }
    run_below_huge_ = 0;
    if (huge_++ == 0) first_huge_ = sample;
    if (std::fabs(value) > std::fabs(largest_.value)) largest_ = sample;
  }
  /// Exploded once and came back at once: the spike detector's business.
  bool back_to_earth() const { return run_below_huge_ >= 3 && huge_ * 5 < sized_; }

  /// So large from the first sample on, and no larger since: a squared error of targets in the
  /// hundreds of thousands, and no explosion.
  bool never_rose() const {
    return huge_ == sized_ && huge_ >= k_enough_to_tell && first_huge_.value > 0 &&
           largest_.value < k_scatter * first_huge_.value;
  }

  void note_ends(const detectors::Sample& sample) {
    if (blocks_.count() == 0 || sample.value < lowest_.value) lowest_ = sample;
    last_ = sample;
  }

  void report(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    if (context.reinforcement) return;  // a policy loss has no level to leave
    const detectors::Curve curve = detectors::curve_of(blocks_);
    if (curve.size < 4) return;
    if (curve.size >= k_short) {
      judge_long(curve, context, out);
    } else if (diverged_in_few(curve)) {
      out.push_back(describe(curve, context, "loss.divergence", core::Severity::failed));
      told_ = true;
    }
  }

  /// Few values: only what needs no statistics. The last four rise to three times the lowest, or
  /// the last three all stand at twice the start.
  bool diverged_in_few(const detectors::Curve& curve) const {
    if (curve.size < 4 || !(curve.best > 0) || !(lowest_.value > 0)) return false;
    const double* const last = &curve.level[curve.size - 4];
    if (std::min({last[1], last[2], last[3]}) < 1.5 * lowest_.value) return false;
    const bool rising =
        last[0] < last[1] && last[1] < last[2] && last[2] < last[3] && last[3] >= 3 * lowest_.value;
    const bool above_start =
        curve.ratio() >= k_doubled && curve.tail_least >= k_doubled * curve.level[0];
    return rising || above_start;
  }

  void judge_long(const detectors::Curve& curve, const detectors::RunContext& context,
                  std::vector<detectors::Symptom>& out) {
    std::optional<core::Severity> severity = diverged(curve);
    if (curve.size < 2 * k_short && diverged_in_few(curve)) severity = core::Severity::failed;
    if (severity) {
      out.push_back(describe(curve, context, "loss.divergence", *severity));
      told_ = true;
    } else if (significant(curve) && curve.ratio() >= k_slow_hint) {
      out.push_back(describe(curve, context, "loss.level_shift", core::Severity::note));
    }
  }

  static bool significant(const detectors::Curve& curve) {
    const double scale = std::max(std::fabs(curve.start), std::fabs(curve.best));
    return curve.rise() > k_sigma * curve.noise &&
           curve.tail_least > curve.best + 2 * curve.noise && curve.rise() >= k_least_rise * scale;
  }

  static bool learned(const detectors::Curve& curve) {
    return curve.progress() > k_progress * std::fabs(curve.start) &&
           curve.progress() > k_sigma * curve.noise;
  }

  /// Collapsed early on, and in all the long rest of the run never as good again.
  static bool never_regained(const detectors::Curve& curve) {
    return learned(curve) && curve.best > 0 && curve.after_best_share >= k_rest_of_run &&
           curve.after_best_least >= k_regained * curve.best &&
           curve.after_best_least > curve.best + 3 * curve.noise &&
           curve.peak > (1 + k_progress) * curve.best &&
           curve.peak - curve.best > k_sigma * curve.noise;
  }

  static std::optional<core::Severity> diverged(const detectors::Curve& curve) {
    if (never_regained(curve)) return core::Severity::unstable;
    if (!significant(curve)) return std::nullopt;
    const bool sudden = curve.sudden_share >= k_sudden_share;
    const bool lost = learned(curve) && curve.lost() >= k_lost;
    const double ratio = curve.ratio();
    if (ratio >= k_doubled || (lost && curve.best <= 0)) {
      const bool still_up = curve.rise() > 0.5 * (curve.peak - curve.best);
      return still_up ? core::Severity::failed : core::Severity::unstable;
    }
    if (!sudden && ratio >= k_slow_ratio) return core::Severity::unstable;
    if (lost && ratio >= (sudden ? k_shift_ratio : k_slow_hint)) return core::Severity::unstable;
    if (!sudden && ratio >= k_slow_hint) return core::Severity::warning;
    return std::nullopt;
  }

  detectors::Symptom describe(const detectors::Curve& curve, const detectors::RunContext& context,
                              const char* id, core::Severity severity) const {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.series = "loss";
    symptom.severity = severity;
    const bool sudden = curve.sudden_share >= k_sudden_share;
    symptom.first_step = sudden ? curve.sudden_step : curve.best_step;
    symptom.last_step = curve.last_step;
    auto& measures = symptom.measures;
    measures["best"] = curve.best;
    measures["best_step"] = static_cast<double>(curve.best_step);
    measures["last"] = curve.last;
    measures["start"] = curve.start;
    measures["ratio"] = curve.ratio();
    measures["slow"] = !sudden;
    measures["sudden"] = sudden;
    measures["lost"] = std::min(curve.lost(), 1e6);
    measures["to_start_level"] =
        curve.progress() > k_progress * std::fabs(curve.start) && curve.lost() >= 0.8;
    measures["step"] = static_cast<double>(symptom.first_step);
    const char* verb = sudden ? "jumps" : "climbs";
    symptom.summary =
        fmt::format("loss {} from {} ({}) to {} and stays up", verb, core::show_number(curve.best),
                    at_step(context, curve.best_step), core::show_number(curve.last));
    if (curve.best > 0 && curve.ratio() < 100)
      symptom.summary += fmt::format(" ({:.1f}x)", curve.ratio());
    add_evidence(symptom, lowest_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  detectors::Symptom describe_scale() const {
    detectors::Symptom symptom;
    symptom.id = "loss.large_scale";
    symptom.series = losses_seen_ ? "loss" : "perplexity";
    symptom.severity = core::Severity::warning;
    symptom.first_step = first_huge_.step;
    symptom.last_step = last_.step;
    symptom.measures["first"] = first_huge_.value;
    symptom.measures["last"] = last_.value;
    symptom.measures["root"] = std::sqrt(first_huge_.value);
    symptom.measures["fall_frac"] = 1 - last_.value / first_huge_.value;
    symptom.summary = fmt::format(
        "{} is {} from the first value on and {} at the end: the scale of the targets, "
        "about {} if it is a squared error",
        symptom.series, core::show_number(first_huge_.value, 3), core::show_number(last_.value, 3),
        core::show_number(std::sqrt(first_huge_.value), 3));
    add_evidence(symptom, first_huge_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  detectors::Symptom describe_huge(const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.huge";
    symptom.series = losses_seen_ ? "loss" : "perplexity";
    symptom.severity = core::Severity::failed;
    symptom.first_step = first_huge_.step;
    symptom.last_step = largest_.step;
    symptom.measures["value"] = largest_.value;
    symptom.measures["share"] = static_cast<double>(huge_) / static_cast<double>(sized_);
    symptom.measures["first_sample"] = huge_ == sized_;
    symptom.summary =
        fmt::format("{} reaches {} at {}: exploded", symptom.series,
                    core::show_number(largest_.value, 3), at_step(context, largest_.step));
    add_evidence(symptom, first_huge_.origin);
    add_evidence(symptom, largest_.origin);
    return symptom;
  }

  core::BlockSummary blocks_;
  detectors::FreshStart fresh_;
  detectors::Sample lowest_;
  detectors::Sample last_;
  bool told_ = false;
  bool losses_seen_ = false;
  std::uint64_t sized_ = 0;
  std::uint64_t huge_ = 0;
  std::uint64_t run_below_huge_ = 0;
  detectors::Sample first_huge_;
  detectors::Sample largest_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_divergence_detector() {
  return std::make_unique<LossDivergenceDetector>();
}

}  // namespace aplomb::loss_detectors

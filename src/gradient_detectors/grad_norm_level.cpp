/// The size of the gradient norm: exactly 0, above 100, swinging from step to step, vanishing,
/// spiking.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/curve.h"
#include "detectors/spike_finder.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_high =
    100;  // the stability guides, 001: finite and below 100; above is unstable
constexpr double k_absurd = 1e6;
constexpr double k_high_share = 0.3;
constexpr double k_large = 10;            // axolotl's training stability guide: healthy up to 10
constexpr double k_large_regular = 0.05;  // benchmark here: healthy real runs exceed 10 in at most
                                          // one record of twenty-five
constexpr double k_large_loss = 20;  // above it the loss is a sum, or in a unit of its own: so are
                                     // its gradients
constexpr std::uint64_t k_large_least = 10;
constexpr double k_swing = 2.0;      // x between neighbours, in the median
constexpr double k_vanished = 1e-6;  // smdebug's vanishing_gradient rule takes a mean |g| of 1e-7
constexpr double k_spike_ratio = 3.0;
constexpr double k_climb = 8.0;  // x the first level
constexpr std::uint64_t k_repeated = 5;
/// Spikes above 100 show instability (axolotl's training stability guide); one record in twenty is
/// no exception any more (judgement).
constexpr double k_repeated_share = 0.05;
constexpr double k_one_jump = 0.8;      // judgement: of the climb, within three of its blocks
constexpr double k_climb_noise = 0.15;  // of the last level: it climbs, it does not swing
constexpr double k_climb_fall = 0.2;  // of the loss: a run that learns more than that is left alone
constexpr double k_spike_large = 10.0;  // axolotl's training stability guide: > 10 regularly is
                                        // unstable; Megatron-LM: 10x the maximum

const detectors::DetectorSpec& grad_norm_level_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.level",
      {"grad_norm.zero", "grad_norm.high", "grad_norm.large", "grad_norm.oscillating",
       "grad_norm.vanishing", "grad_norm.spike", "grad_norm.climb"},
      "The gradient norm is 0, above 100, swings wildly, vanishes or spikes",
      "Nothing flows back through a gradient of 0; a huge or swinging one announces a divergence.",
      "grad_norm 4.1, 180, 12, 950, 33",
      {record::Role::grad_norm, record::Role::loss},
      {{"high", k_high, "", 1, 1e6, "the stability guides and 001: above 100 is unstable"},
       {"large", k_large, "", 0.1, 1e6,
        "axolotl's training stability guide: healthy up to 10, regularly above is unstable"},
       {"high_share", k_high_share, "fraction", 0, 1,
        "a third of the run is no longer an exception"},
       {"swing", k_swing, "x", 1.1, 100,
        "benchmark here: with batches of many samples neighbours differ by 1.1 to 1.5"},
       {"vanished", k_vanished, "", 0, 1, "smdebug vanishing_gradient: mean magnitude 1e-7"},
       {"climb", k_climb, "x", 2, 1000,
        "gradients that are never zeroed add up, so the norm grows with the steps (Adam's bounded "
        "steps keep the loss from exploding); healthy real runs stay below 10"},
       {"spike_ratio", k_spike_ratio, "x", 1.5, 100,
        "benchmark here: single norms of healthy runs reach 2x"}},
      {"https://arxiv.org/abs/2504.02507"}};
  return spec;
}

class GradNormLevelDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_level_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss))
      loss_.add(frame.step, loss->value);
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (norm == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *norm);
    if (zero_.of == 0) first_ = sample;
    last_ = sample;
    zero_.add(sample.value == 0);
    zero_run_ = sample.value == 0 ? zero_run_ + 1 : 0;
    if (sample.value == 0 && zero_.hit == 1) first_zero_ = sample;
    high_.add(sample.value > k_high);
    if (sample.value > k_high) see_high();
    large_.add(sample.value > k_large);
    if (sample.value > k_high && high_.hit == 1) first_high_ = sample;
    if (sample.value > k_large && large_.hit == 1) first_large_ = sample;
    if (sample.value > largest_.value) largest_ = sample;
    if (!(sample.value > 0)) return;
    if (before_ > 0) swings_.push(std::fabs(std::log(sample.value / before_)));
    before_ = sample.value;
    blocks_.add(frame.step, sample.value);
    if (spikes_.add(sample)) report_spikes(context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report_zero(context, out);
    report_high(context, out);
    report_large(context, out);
    report_swing(context, out);
    report_vanished(context, out);
    report_climb(context, out);
    const std::size_t before = out.size();
    report_spikes(context, out);
    if (out.size() == before && told_spikes_)
      out.push_back(detectors::withdrawal("grad_norm.spike", "grad_norm"));
  }

 private:
  /// Whether values above the mark come at equal distances.
  void see_high() {
    const std::uint64_t distance = high_.of - last_high_;
    if (high_.hit > 1) even_ = even_ && (high_.hit == 2 || distance == distance_);
    distance_ = distance;
    last_high_ = high_.of;
  }

  bool loss_falls() const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    return curve.size >= 3 && curve.start > 0 && curve.last < 0.97 * curve.start;
  }

  detectors::Symptom about(std::string id, core::Severity severity,
                           const detectors::Sample& from) const {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "grad_norm";
    symptom.first_step = from.step;
    symptom.last_step = last_.step;
    add_evidence(symptom, from.origin);
    return symptom;
  }

  void report_zero(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    if (zero_.hit == 0) return;
    // A column of zeros beside a falling loss is a placeholder of the logger. In reinforcement
    // learning a group without spread gives a gradient of 0: the reward detector judges that.
    const bool placeholder = zero_.hit == zero_.of && loss_falls() && !context.reinforcement;
    const bool dead =
        zero_.hit >= 2 && (zero_run_ >= 3 || zero_.share() > 0.3 || zero_run_ == zero_.of);
    core::Severity severity = core::Severity::note;
    if (!context.reinforcement && !placeholder && dead) severity = core::Severity::failed;
    detectors::Symptom symptom = about("grad_norm.zero", severity, first_zero_);
    symptom.measures["share"] = zero_.share();
    symptom.measures["count"] = static_cast<double>(zero_.hit);
    symptom.measures["always"] = zero_.hit == zero_.of;
    symptom.measures["placeholder"] = placeholder;
    symptom.summary = fmt::format("grad_norm is exactly 0 in {} of {} values", zero_.hit, zero_.of);
    if (placeholder) symptom.summary += ", though the loss falls: not measured";
    out.push_back(std::move(symptom));
  }

  void report_high(const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    if (high_.hit == 0) return;
    const detectors::Curve curve = detectors::curve_of(blocks_);
    const bool rising = curve.size >= 3 && curve.last > 2 * curve.best && curve.last > curve.start;
    const bool lasting = high_.share() >= k_high_share;
    const bool repeated =
        high_.hit >= k_repeated && high_.share() >= k_repeated_share && !own_unit();
    core::Severity severity = repeated ? core::Severity::warning : core::Severity::note;
    if (lasting)
      severity = rising && !loss_falls() ? core::Severity::unstable : core::Severity::warning;
    if (largest_.value > k_absurd && (lasting || !loss_falls()))
      severity = core::Severity::unstable;
    detectors::Symptom symptom = about("grad_norm.high", severity, first_high_);
    symptom.measures["max"] = largest_.value;
    symptom.measures["share"] = high_.share();
    symptom.measures["rising"] = rising;
    symptom.measures["repeated"] = repeated;
    const bool even = even_ && high_.hit >= k_repeated && distance_ > 1;
    symptom.measures["period"] = even ? static_cast<double>(distance_) : 0.0;
    symptom.summary = fmt::format(
        "grad_norm above {} in {} of {} values, up to {} at {}", core::show_number(k_high),
        high_.hit, high_.of, core::show_number(largest_.value), at_step(context, largest_.step));
    if (rising) symptom.summary += ", and rising";
    if (even) symptom.summary += fmt::format(", in every {}th record", distance_);
    add_evidence(symptom, largest_.origin);
    out.push_back(std::move(symptom));
  }

  bool own_unit() const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    return curve.size >= 3 && curve.start > k_large_loss;
  }

  /// Above 10 in a third of the records: no exception any more, whatever the loss does meanwhile.
  void report_large(const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    if (large_.of < k_large_least || large_.share() < k_high_share ||
        high_.share() >= k_high_share || own_unit())
      return;
    const bool grave = context.reinforcement && large_.share() >= 0.5;
    detectors::Symptom symptom =
        about("grad_norm.large", grave ? core::Severity::unstable : core::Severity::warning,
              first_large_);
    symptom.measures["share"] = large_.share();
    symptom.measures["max"] = largest_.value;
    symptom.summary = fmt::format(
        "grad_norm above {} in {} of {} values, up to {} at {}", core::show_number(k_large),
        large_.hit, large_.of, core::show_number(largest_.value), at_step(context, largest_.step));
    add_evidence(symptom, largest_.origin);
    out.push_back(std::move(symptom));
  }

  void report_swing(const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    if (swings_.size() < 20) return;
    const double ratio = std::exp(swings_.median());
    if (ratio < k_swing) return;
    // Batches of one or two samples swing by nature; it matters where norms are large and nothing
    // is learnt.
    const bool regular =
        large_.of >= k_large_least && large_.share() >= k_large_regular && !own_unit();
    const bool matters =
        regular || (!context.reinforcement && large_.share() >= k_high_share && !loss_falls());
    detectors::Symptom symptom = about(
        "grad_norm.oscillating", matters ? core::Severity::warning : core::Severity::note, first_);
    symptom.measures["ratio"] = ratio;
    symptom.measures["max"] = largest_.value;
    symptom.measures["regular"] = regular;
    symptom.summary =
        fmt::format("grad_norm swings by {}x from one record to the next (median), up to {}",
                    core::show_number(ratio, 2), core::show_number(largest_.value));
    add_evidence(symptom, largest_.origin);
    out.push_back(std::move(symptom));
  }

  void report_vanished(const detectors::RunContext& context,
                       std::vector<detectors::Symptom>& out) const {
    const detectors::Curve curve = detectors::curve_of(blocks_);
    if (curve.size < 5 || curve.last >= k_vanished) return;
    const bool learnt = loss_falls();
    detectors::Symptom symptom = about(
        "grad_norm.vanishing", learnt ? core::Severity::note : core::Severity::warning, first_);
    symptom.measures["level"] = curve.last;
    symptom.measures["start"] = curve.start;
    symptom.summary =
        fmt::format("grad_norm is down to {} ({} at first) at {}", core::show_number(curve.last),
                    core::show_number(curve.start), at_step(context, last_.step));
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  /// Climbs steadily to many times its first level while the loss hardly moves.
  void report_climb(const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    const detectors::Curve norm = detectors::curve_of(blocks_);
    const detectors::Curve loss = detectors::curve_of(loss_);
    if (context.reinforcement || norm.size < 10 || loss.size < 10 || !(first_.value > 0)) return;
    const double ratio = norm.last / first_.value;
    const bool steady = norm.noise < k_climb_noise * norm.last;
    const bool hardly_moves =
        loss.last > (1 - k_climb_fall) * loss.start && loss.last < 1.1 * loss.start;
    // A level, one jump, another level: that is no climb.
    if (norm.sudden_share > k_one_jump) return;
    if (ratio < k_climb || norm.last < k_large || !steady || !hardly_moves) return;
    detectors::Symptom symptom;
    symptom.id = "grad_norm.climb";
    symptom.severity = core::Severity::warning;
    symptom.series = "grad_norm";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["ratio"] = ratio;
    symptom.measures["first"] = first_.value;
    symptom.measures["last"] = norm.last;
    symptom.summary = fmt::format("grad_norm climbs steadily {} -> {} ({:.0f}x) by {}",
                                  core::show_number(first_.value), core::show_number(norm.last),
                                  ratio, at_step(context, last_.step));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  void report_spikes(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const std::vector<detectors::Spike> spikes = spikes_.spikes();
    if (spikes.empty()) return;
    told_spikes_ = true;
    const detectors::Spike& worst = *std::max_element(
        spikes.begin(), spikes.end(),
        [](const detectors::Spike& a, const detectors::Spike& b) { return a.ratio() < b.ratio(); });
    const bool large =
        worst.ratio() >= k_spike_large && spikes.size() >= 2 && !context.reinforcement;
    detectors::Symptom symptom =
        about("grad_norm.spike", large ? core::Severity::warning : core::Severity::note,
              spikes.front().peak);
    symptom.last_step = spikes.back().last_step;
    symptom.measures["ratio"] = worst.ratio();
    symptom.measures["sigma"] = worst.z;
    symptom.measures["count"] = static_cast<double>(spikes.size());
    symptom.measures["step"] = static_cast<double>(worst.first_step);
    symptom.summary =
        fmt::format("grad_norm jumps {} -> {} at {}", core::show_number(worst.level),
                    core::show_number(worst.peak.value), at_step(context, worst.peak.step));
    if (spikes.size() > 1) symptom.summary += fmt::format(", {} spikes in all", spikes.size());
    for (const detectors::Spike& spike : spikes) add_evidence(symptom, spike.peak.origin);
    out.push_back(std::move(symptom));
  }

  std::uint64_t last_high_ = 0;  ///< number of the last record above the mark
  std::uint64_t distance_ = 0;   ///< from the one before it
  bool even_ = true;
  detectors::Tally zero_;
  detectors::Tally high_;
  detectors::Tally large_;
  std::uint64_t zero_run_ = 0;
  double before_ = 0;
  core::SortedWindow<128> swings_;
  core::BlockSummary blocks_;
  core::BlockSummary loss_;
  detectors::SpikeFinder spikes_{detectors::SpikeFinder::Scale::logarithmic, k_spike_ratio};
  bool told_spikes_ = false;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample first_zero_;
  detectors::Sample first_high_;
  detectors::Sample first_large_;
  detectors::Sample largest_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_level_detector() {
  return std::make_unique<GradNormLevelDetector>();
}

}  // namespace aplomb::gradient_detectors

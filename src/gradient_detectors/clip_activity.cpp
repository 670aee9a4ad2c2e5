/// Gradient clipping: active in every step (then it hides a deeper fault), or the norm was logged
/// after it (then the log cannot show an explosion).

#include <fmt/format.h>

#include "core/robust_window.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr double k_every = 0.9;  // share of records
constexpr double k_far = 3.0;    // x the threshold: the update keeps a third of its length
constexpr std::uint64_t k_least = 20;
constexpr double k_pinned = 1e-3;  // relative: printed digits of a clipped norm
constexpr double k_pinned_share = 0.3;

const detectors::DetectorSpec& clip_activity_spec() {
  static const detectors::DetectorSpec spec{
      "clip.activity",
      {"clip.every_step", "log.clipped_norm"},
      "Gradient clipping is active in nearly every step, or the norm was logged after clipping",
      "Clipping is for exceptions; always on, it is a learning rate in disguise and hides faults.",
      "grad_norm 1.000, 1.000, 0.871, 1.000 (logged after), or 14, 22, 31 with max_grad_norm 1.0",
      {record::Role::grad_norm},
      {{"every", k_every, "fraction", 0.5, 1,
        "the precision and stability notes P13: active every step is a symptom"},
       {"far", k_far, "x", 1, 1000,
        "a norm of three thresholds leaves a third of the step; small batches that learn reach "
        "more, so that it is a warning and names no cause by itself"},
       {"pinned_share", k_pinned_share, "fraction", 0.1, 1,
        "equal largest values to three digits do not recur by chance"}},
      {"https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"}};
  return spec;
}

class ClipActivityDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return clip_activity_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (norm == nullptr || norm->value <= 0) return;
    const detectors::Sample sample = sample_of(frame, *norm);
    if (count_++ == 0) first_ = sample;
    last_ = sample;
    norms_.push(sample.value);
    if (sample.value > largest_ * (1 + k_pinned)) {
      largest_ = sample.value;
      pinned_ = 0;
      first_pinned_ = sample;
    }
    if (sample.value >= largest_ * (1 - k_pinned)) ++pinned_;
    if (context.grad_clip) above_.add(sample.value > *context.grad_clip * (1 + k_pinned));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (count_ < 5) return;
    const double pinned = static_cast<double>(pinned_) / static_cast<double>(count_);
    // A norm that is the same in every record is a constant column, no clipped norm.
    if (pinned >= k_pinned_share && pinned_ >= 5 && norms_.least() < largest_ * (1 - k_pinned)) {
      report_pinned(pinned, context, out);
      return;
    }
    if (count_ < k_least || !context.grad_clip || above_.share() < k_every) return;
    const double median = norms_.median();
    detectors::Symptom symptom =
        about("clip.every_step",
              median > k_far * *context.grad_clip ? core::Severity::warning : core::Severity::note);
    symptom.measures["threshold"] = *context.grad_clip;
    symptom.measures["share"] = above_.share();
    symptom.measures["median_ratio"] = median / *context.grad_clip;
    symptom.summary =
        fmt::format("gradient clipping at {} is active in {} of the records (median norm {})",
                    core::show_number(*context.grad_clip), detectors::percent(above_.share()),
                    core::show_number(median));
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Symptom about(std::string id, core::Severity severity) const {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "grad_norm";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  void report_pinned(double share, const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom = about("log.clipped_norm", core::Severity::note);
    symptom.measures["threshold"] = largest_;
    symptom.measures["share"] = share;
    symptom.summary = fmt::format(
        "grad_norm never exceeds {} and equals it in {} of the records: logged after clipping",
        core::show_number(largest_), detectors::percent(share));
    add_evidence(symptom, first_pinned_.origin);
    out.push_back(std::move(symptom));
    if (share < k_every || count_ < k_least) return;
    detectors::Symptom every = about("clip.every_step", core::Severity::note);
    every.measures["threshold"] = largest_;
    every.measures["share"] = share;
    every.summary = fmt::format("gradient clipping at {} is active in {} of the records from {} on",
                                core::show_number(largest_), detectors::percent(share),
                                at_step(context, first_.step));
    out.push_back(std::move(every));
  }

  std::uint64_t count_ = 0;
  std::uint64_t pinned_ = 0;
  double largest_ = 0;
  detectors::Tally above_;
  core::SortedWindow<128> norms_;
  detectors::Sample first_;
  detectors::Sample last_;
  detectors::Sample first_pinned_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_clip_activity_detector() {
  return std::make_unique<ClipActivityDetector>();
}

}  // namespace aplomb::gradient_detectors

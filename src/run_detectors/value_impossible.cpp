/// Values that a metric cannot have: an accuracy above 1, a divergence below 0, a cross-entropy
/// below 0, a perplexity below 1, a loss that is far below 0. Where one stands the formula is wrong,
/// or the name.

#include <fmt/format.h>

#include <array>

#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr double k_rounding = 0.02;  // bf16 keeps three digits
constexpr double k_bottomless = -1e6;
constexpr std::size_t k_in_a_row = 3;

const detectors::DetectorSpec& value_impossible_spec() {
  static const detectors::DetectorSpec spec{
      "value.impossible",
      {"value.impossible"},
      "A metric has a value that it cannot have",
      "A share above 1 or a divergence below 0 comes from a wrong formula: what is optimised, or "
      "what is shown, is something else.",
      "val_acc 0.42, 0.97, 1.38",
      {record::Role::loss, record::Role::accuracy, record::Role::eval_accuracy,
       record::Role::perplexity, record::Role::kl, record::Role::clip_ratio},
      {{"in_a_row", static_cast<double>(k_in_a_row), "samples", 1, 100, "one may be a torn record"},
       {"bottomless", k_bottomless, "", -1e30, 0,
        "likelihoods of data with finite noise stay far above it"}},
      {},
      false,
      {task::Part::explained_variance}};
  return spec;
}

struct Bounds {
  const char* what = "";
  const char* why = "";
  detectors::Sample first;
  detectors::Sample worst;
  std::size_t run = 0;
  std::size_t times = 0;
};

enum Bound : std::size_t {
  accuracy,
  eval_accuracy,
  kl,
  loss,
  bottomless,
  perplexity,
  share,
  k_bounds
};

class ValueImpossibleDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return value_impossible_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    see_share(frame, record::Role::accuracy, accuracy);
    see_share(frame, record::Role::eval_accuracy, eval_accuracy);
    if (const detectors::Reading* reading = finite_of(frame, record::Role::kl)) {
      // Single samples estimate it below 0; what an autoencoder computes in closed form is not.
      const bool closed = context.task.kind == task::Kind::vae;
      note(kl, sample_of(frame, *reading), closed && reading->value < -1e-3);
    }
    if (const detectors::Reading* reading = finite_of(frame, record::Role::loss)) {
      const bool entropy = context.task.kind == task::Kind::classifier ||
                           context.task.kind == task::Kind::token_classifier;
      positive_ = positive_ || reading->value > 0;
      note(loss, sample_of(frame, *reading),
           entropy && positive_ && !context.reinforcement && reading->value < -k_rounding);
      note(bottomless, sample_of(frame, *reading),
           !context.reinforcement && reading->value < k_bottomless);
    }
    if (const detectors::Reading* reading = finite_of(frame, record::Role::perplexity))
      note(perplexity, sample_of(frame, *reading), reading->value < 1 - k_rounding);
    if (const detectors::Reading* reading = finite_part(frame, task::Part::explained_variance))
      note(share, sample_of(frame, *reading), reading->value > 1.001 && reading->value < 90);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    static constexpr std::array<std::pair<const char*, const char*>, k_bounds> k_words = {{
        {"accuracy", "a share is at most 1"},
        {"eval_accuracy", "a share is at most 1"},
        {"kl", "a divergence is at least 0"},
        {"loss", "a cross-entropy is at least 0"},
        {"loss", "it has no bottom: a term of it is rewarded without end"},
        {"perplexity", "a perplexity is at least 1"},
        {"r2", "a share of the variance is at most 1"},
    }};
    for (std::size_t i = 0; i < k_bounds; ++i) {
      const Bounds& seen = bounds_[i];
      if (seen.times < k_in_a_row && !(i == bottomless && seen.times > 0)) continue;
      detectors::Symptom symptom;
      symptom.id = "value.impossible";
      symptom.severity = i == bottomless ? core::Severity::unstable : core::Severity::warning;
      symptom.series = k_words[i].first;
      symptom.first_step = seen.first.step;
      symptom.last_step = seen.worst.step;
      symptom.measures["what"] = std::string(k_words[i].first);
      symptom.measures["value"] = seen.worst.value;
      symptom.measures["bottomless"] = i == bottomless;
      symptom.summary =
          fmt::format("{} is {} at {}: {}", k_words[i].first, core::show_number(seen.worst.value),
                      at_step(context, seen.worst.step), k_words[i].second);
      add_evidence(symptom, seen.first.origin);
      add_evidence(symptom, seen.worst.origin);
      out.push_back(std::move(symptom));
    }
  }

 private:
  /// In percent or of 1: which of the two the first value above 1 says. A share that was below 1 for
  /// many records and then is 1.4 is neither.
  void see_share(const detectors::Frame& frame, record::Role role, Bound bound) {
    const detectors::Reading* reading = finite_of(frame, role);
    if (reading == nullptr) return;
    double& most = most_[bound];
    const bool of_one = most > 0.2 && most <= 1.0;
    const bool above =
        (of_one && reading->value > 1.001 && reading->value < 3) || reading->value > 100.5;
    note(bound, sample_of(frame, *reading), above);
    if (!above) most = std::max(most, reading->value);
  }

  void note(Bound bound, const detectors::Sample& sample, bool wrong) {
    Bounds& seen = bounds_[bound];
    if (!wrong) return;
    if (seen.times++ == 0) seen.first = seen.worst = sample;
    if (std::fabs(sample.value) > std::fabs(seen.worst.value)) seen.worst = sample;
  }

  std::array<Bounds, k_bounds> bounds_;
  std::array<double, k_bounds> most_{};
  bool positive_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_value_impossible_detector() {
  return std::make_unique<ValueImpossibleDetector>();
}

}  // namespace aplomb::run_detectors

/// A KL term of the wrong sign: the loss falls whenever the policy is further from its reference.
/// The advantages of a group sum to 0, so that at ratio 1 the value of a GRPO loss is its KL term:
/// beta times the divergence (TRL documents a loss that starts at 0 and grows). From record to
/// record the two move together; where they move against each other, distance is paid for.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr double k_correlation = -0.9;  // of the differences from record to record: no common drift
constexpr std::uint64_t k_pairs = 20;
constexpr double k_far = 0.1;  // nats; nearer to the reference the term is lost in the loss's noise

const detectors::DetectorSpec& kl_rewarded_spec() {
  static const detectors::DetectorSpec spec{
      "kl.rewarded",
      {"kl.rewarded"},
      "The loss falls as the policy leaves its reference",
      "A KL term that is subtracted from the loss pays the policy for running away.",
      "loss -0.4, -1.1, -1.0, -2.4 with kl 0.8, 2.2, 2.0, 4.9",
      {record::Role::loss, record::Role::kl},
      {{"correlation", k_correlation, "", -1, 0,
        "of differences between neighbouring records, which have no common drift"},
       {"pairs", static_cast<double>(k_pairs), "records", 5, 1000,
        "by chance so many are not correlated like this (p < 1e-7)"},
       {"far", k_far, "nats", 0, 10, "nearer to the reference the term is lost in noise"}},
      {"https://arxiv.org/abs/2402.03300", "https://huggingface.co/docs/trl/grpo_trainer"}};
  return spec;
}

/// Covariance of pairs, fed one by one (Welford).
class Covariance {
 public:
  void add(double x, double y) {
    ++count_;
    const double from_x = x - mean_x_;
    mean_x_ += from_x / static_cast<double>(count_);
    const double from_y = y - mean_y_;
    mean_y_ += from_y / static_cast<double>(count_);
    xx_ += from_x * (x - mean_x_);
    yy_ += from_y * (y - mean_y_);
    xy_ += from_x * (y - mean_y_);
  }
  std::uint64_t count() const { return count_; }
  double correlation() const { return xx_ > 0 && yy_ > 0 ? xy_ / std::sqrt(xx_ * yy_) : 0.0; }
  double slope() const { return xx_ > 0 ? xy_ / xx_ : 0.0; }

 private:
  std::uint64_t count_ = 0;
  double mean_x_ = 0, mean_y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

class KlRewardedDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return kl_rewarded_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    const detectors::Reading* kl = finite_of(frame, record::Role::kl);
    if (loss == nullptr || kl == nullptr) return;
    if (records_++ > 0) pairs_.add(kl->value - kl_, loss->value - last_.value);
    if (records_ == 1) first_ = sample_of(frame, *loss);
    last_ = sample_of(frame, *loss);
    kl_ = kl->value;
    highest_ = std::max(highest_, kl_);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (!context.reinforcement || pairs_.count() < k_pairs || highest_ < k_far) return;
    if (pairs_.correlation() > k_correlation || last_.value >= 0) return;
    detectors::Symptom symptom;
    symptom.id = "kl.rewarded";
    symptom.severity = core::Severity::unstable;
    symptom.series = "loss";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["correlation"] = pairs_.correlation();
    symptom.measures["slope"] = pairs_.slope();
    symptom.summary = fmt::format(
        "loss falls by {} for each nat that kl rises (correlation {} over {}): the KL term has the "
        "wrong sign",
        core::show_number(-pairs_.slope(), 3), core::show_number(pairs_.correlation(), 3),
        over_steps(context, symptom.first_step, symptom.last_step));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    interim(context, out);
  }

 private:
  Covariance pairs_;  ///< differences of kl and of loss between neighbouring records
  std::uint64_t records_ = 0;
  detectors::Sample first_, last_;
  double kl_ = 0;
  double highest_ = 0;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_kl_rewarded_detector() {
  return std::make_unique<KlRewardedDetector>();
}

}  // namespace aplomb::policy_detectors

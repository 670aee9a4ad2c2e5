/// The code of a variational autoencoder says nothing: its divergence from the prior goes to 0 and
/// stays there, while the reconstruction is that of the mean.

#include <fmt/format.h>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 5;
/// Nats. A code of one bit is 0.69; a mean over dimensions of a code in use is above a hundredth.
constexpr double k_nothing = 0.01;
/// Of the reconstruction, from the second quarter to the last.
constexpr double k_still_falls = 0.05;
/// From the third quarter to the last; a weight that rises evenly gives 1.4.
constexpr double k_grows = 1.2;

const detectors::DetectorSpec& latent_collapsed_spec() {
  static const detectors::DetectorSpec spec{
      "latent.collapsed",
      {"latent.collapsed"},
      "The divergence of a variational autoencoder's code from its prior has gone to 0",
      "The decoder ignores the code: every sample is the mean of the data.",
      "kl 0.0083, 0.0011, 0.0004, ... 0.00001 beside a reconstruction that stays at 0.493",
      {record::Role::kl, record::Role::loss},
      {{"nothing", k_nothing, "nats", 1e-6, 1,
        "arXiv:1511.06349: a code that is used costs nats, one that is not costs 0"}},
      {"https://arxiv.org/abs/1511.06349", "https://arxiv.org/abs/1901.05534"}};
  return spec;
}

class LatentCollapsedDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return latent_collapsed_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::kl, kl_);
    add_finite(frame, record::Role::loss, losses_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || context.task.kind != task::Kind::vae) return;
    if (kl_.count() < k_least) return;
    const double late = kl_.median(0.5, 1);
    if (!(late < k_nothing) || late < 0) return;
    // Where the weight of the divergence grows from 0, the code comes later.
    if (kl_.median(0.75, 1) > k_grows * kl_.median(0.5, 0.75)) return;
    if (losses_.count() >= k_least) {
      const double middle = losses_.median(0.25, 0.5);
      if (losses_.median(0.75, 1) < (1 - k_still_falls) * middle) return;
    }
    detectors::Symptom symptom;
    symptom.id = "latent.collapsed";
    symptom.severity = core::Severity::warning;
    symptom.series = "kl";
    symptom.first_step = kl_.front().step;
    symptom.last_step = kl_.back().step;
    symptom.measures["kl"] = late;
    symptom.measures["first"] = kl_.front().value;
    symptom.summary = fmt::format(
        "the code's divergence from its prior is {} nats ({} at first): it says nothing",
        core::show_number(kl_.back().value, 3), core::show_number(kl_.front().value, 3));
    add_evidence(symptom, kl_.front().origin);
    add_evidence(symptom, kl_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Kept kl_;
  detectors::Kept losses_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_latent_collapsed_detector() {
  return std::make_unique<LatentCollapsedDetector>();
}

}  // namespace aplomb::loss_detectors

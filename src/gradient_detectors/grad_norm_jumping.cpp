/// Gradient norms that jump by factors from record to record while the loss stays where it is: the
/// steps throw the weights about at a rate that is too high, where a rate that is too low leaves
/// norms as they were.

#include <fmt/format.h>

#include "core/robust_window.h"
#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_least = 20;
constexpr double k_jumps = 2.2;  // upper over lower decile
constexpr double k_flat = 0.03;  // of the loss, over the last three quarters
constexpr double k_start_up = 0.25;

const detectors::DetectorSpec& grad_norm_jumping_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.jumping",
      {"grad_norm.jumping"},
      "Gradient norms jump by factors while the loss does not fall",
      "Steps that are too long land on any slope: the loss stays at what needs no inputs.",
      "grad_norm 0.1, 1.7, 0.3, 0.8, 0.1 beside a loss that stays at 6.1",
      {record::Role::grad_norm, record::Role::loss},
      {{"jumps", k_jumps, "x", 1.1, 100,
        "benchmark here: of healthy real runs with a flat loss one in twenty has such norms"},
       {"flat", k_flat, "fraction", 0.001, 0.5, "as loss.never_learned"}},
      {"https://arxiv.org/abs/1812.06162"},
      true};
  return spec;
}

class GradNormJumpingDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_jumping_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::loss, losses_);
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (norm != nullptr && norm->value > 0) norms_.add(sample_of(frame, *norm));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || norms_.count() < k_least || losses_.count() < k_least) return;
    const double before = losses_.median(k_start_up, 0.5);
    const double after = losses_.median(0.75, 1);
    if (!(before > 0) || after < (1 - k_flat) * before) return;
    std::vector<double> values;
    for (auto i = static_cast<std::size_t>(k_start_up * static_cast<double>(norms_.size()));
         i < norms_.size(); ++i)
      values.push_back(norms_[i].value);
    std::sort(values.begin(), values.end());
    const double low = values[values.size() / 10];
    const double high = values[values.size() - 1 - values.size() / 10];
    if (high < k_jumps * low) return;
    detectors::Symptom symptom;
    symptom.id = "grad_norm.jumping";
    symptom.severity = core::Severity::note;
    symptom.series = "grad_norm";
    symptom.first_step = norms_.front().step;
    symptom.last_step = norms_.back().step;
    symptom.measures["ratio"] = high / low;
    symptom.measures["median"] = values[values.size() / 2];
    symptom.summary = fmt::format("grad_norm jumps between {} and {} while the loss stays at {}",
                                  core::show_number(low, 3), core::show_number(high, 3),
                                  core::show_number(after));
    add_evidence(symptom, norms_.front().origin);
    add_evidence(symptom, norms_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  detectors::Kept losses_;
  detectors::Kept norms_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_jumping_detector() {
  return std::make_unique<GradNormJumpingDetector>();
}

}  // namespace aplomb::gradient_detectors

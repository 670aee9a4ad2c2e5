/// A gradient norm that was taken before the loss scale was taken out of the gradients
/// (`scaler.unscale_`): it is the scale's size, and goes with it whenever the scale is halved or
/// doubled.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/robust_window.h"
#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_beside = 8;  // records on each side of a change of the scale
constexpr std::size_t k_least_beside = 4;
constexpr double k_like = 0.35;  // of the logarithms: half of a halving
constexpr std::uint64_t k_changes = 2;
constexpr double k_followed = 0.75;
constexpr std::uint64_t k_least = 20;
constexpr double k_high = 100;  // the stability guides: finite and below 100
constexpr double k_share = 0.9;
/// The stability guides' 0.1 to 10 of a sound norm, with a factor of two at each end (judgement).
constexpr double k_least_true = 0.05;
constexpr double k_most_true = 20;

const detectors::DetectorSpec& grad_norm_scaled_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.scaled",
      {"grad_norm.scaled"},
      "The gradient norm still holds the loss scale of fp16",
      "A threshold of 1.0 on such norms cuts each step to nothing, and what is logged says nothing "
      "of the gradients.",
      "loss_scale 65536 grad_norm 52428.8, loss_scale 32768 grad_norm 26100.2",
      {record::Role::grad_norm, record::Role::loss_scale, record::Role::loss},
      {{"followed", k_followed, "fraction", 0.5, 1,
        "of the changes of the scale, by as much as the scale; judgement"},
       {"high", k_high, "", 1, 1e6, "the stability guides: sound norms are below 100"}},
      {"https://docs.pytorch.org/docs/stable/notes/amp_examples.html"}};
  return spec;
}

class GradNormScaledDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_scaled_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss))
      loss_.add(frame.step, loss->value);
    if (const detectors::Reading* scale = finite_of(frame, record::Role::loss_scale);
        scale != nullptr && scale->value > 0 && scale->value != scale_) {
      close_change();
      change_ = scale_ > 0 ? std::log(scale->value / scale_) : 0;
      before_ = after_;
      after_.clear();
      scale_ = scale->value;
    }
    const detectors::Reading* norm = finite_of(frame, record::Role::grad_norm);
    if (norm == nullptr || norm->value <= 0 || scale_ <= 1) return;
    last_ = sample_of(frame, *norm);
    if (count_++ == 0) first_ = last_;
    if (norm->value > k_high) ++high_;
    ratios_.push(norm->value / scale_);
    after_.push(std::log(norm->value));
    if (after_.size() == k_beside && change_ != 0) close_change();
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    close_change();
    if (count_ < k_least) return;
    const bool goes_with_it =
        changes_ >= k_changes &&
        static_cast<double>(followed_) >= k_followed * static_cast<double>(changes_);
    if (!goes_with_it && !(changes_ < k_changes && is_as_large())) return;
    detectors::Symptom symptom;
    symptom.id = "grad_norm.scaled";
    symptom.severity = core::Severity::warning;
    symptom.series = "grad_norm";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["scale"] = scale_;
    symptom.measures["norm"] = last_.value;
    symptom.measures["unscaled"] = ratios_.median();
    symptom.summary = fmt::format(
        "the gradient norm still holds the loss scale: {} at a scale of {}{}; unscaled it is {}",
        core::show_number(last_.value), core::show_number(scale_, 7),
        goes_with_it
            ? fmt::format(", and goes with it at {} of its {} changes", followed_, changes_)
            : fmt::format(" by {}", at_step(context, last_.step)),
        core::show_number(ratios_.median()));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

 private:
  /// Compares the norms on both sides of the last change of the scale.
  void close_change() {
    if (change_ == 0) return;
    if (before_.size() >= k_least_beside && after_.size() >= k_least_beside) {
      ++changes_;
      if (std::fabs(after_.median() - before_.median() - change_) < k_like) ++followed_;
    }
    change_ = 0;
  }

  /// Nearly all norms are far above sound ones, they are sound once the scale is divided out, and
  /// the run learns all the same.
  bool is_as_large() const {
    const detectors::Curve curve = detectors::curve_of(loss_);
    const bool learns = curve.size >= 3 && curve.start > 0 && curve.last < curve.start;
    return learns && static_cast<double>(high_) >= k_share * static_cast<double>(count_) &&
           ratios_.median() >= k_least_true && ratios_.median() <= k_most_true;
  }

  core::BlockSummary loss_;
  core::SortedWindow<k_beside> before_, after_;
  core::SortedWindow<128> ratios_;
  double scale_ = 0;
  double change_ = 0;  ///< of the scale's logarithm, while the records behind it are gathered
  std::uint64_t count_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t followed_ = 0;
  detectors::Sample first_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_scaled_detector() {
  return std::make_unique<GradNormScaledDetector>();
}

}  // namespace aplomb::gradient_detectors

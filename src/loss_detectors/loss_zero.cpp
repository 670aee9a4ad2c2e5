/// A training loss that is exactly 0, or the same number again and again: a hidden NaN, masked
/// labels, a loss that does not hang on the weights. In reinforcement learning a policy loss of 0
/// is the normal case (rewards.cpp judges that).

#include <fmt/format.h>

#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_rounded = 0.005;  // a loss this small is printed as 0.00: rounding, not zero
constexpr double k_share_failed =
    0.3;  // as the corpus of real runs tells broken ones: > 30 % of losses exactly 0
constexpr std::uint64_t k_constant_run = 5;
constexpr std::uint64_t k_constant_few =
    3;  // where the parts stand still too, or more digits are printed
constexpr double k_constant_share = 0.8;

const detectors::DetectorSpec& loss_zero_spec() {
  static const detectors::DetectorSpec spec{
      "loss.zero",
      {"loss.zero", "loss.constant"},
      "The training loss is exactly 0, or one and the same number",
      "A loss of exactly 0 gives no gradient: the run goes on, pays for every step and learns "
      "nothing.",
      "loss 2.5, 0.0, 0.0, 0.0 with grad_norm 0.0",
      {record::Role::loss, record::Role::loss_component, record::Role::grad_norm},
      {{"rounded", k_rounded, "nats", 0, 0.1, "four printed digits: below it 0.00 is rounding"},
       {"share_failed", k_share_failed, "fraction", 0, 1,
        "share of zeros that made real runs count as broken"},
       {"constant_run", static_cast<double>(k_constant_run), "samples", 3, 1000,
        "equal losses of different batches to four digits do not occur five times in a row by "
        "chance"}},
      {"https://huggingface.co/docs/transformers/main_classes/trainer"}};
  return spec;
}

class LossZeroDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_zero_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    const detectors::Reading* loss = reading_of(frame, record::Role::loss);
    if (loss == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *loss);
    count_equal(sample, parts_of(frame));
    if (sample.value != 0) {
      zero_run_ = 0;
      ++others_;
      if (std::isfinite(sample.value)) last_other_ = sample;
      return;
    }
    const detectors::Reading* norm = reading_of(frame, record::Role::grad_norm);
    with_nan_grad_ = with_nan_grad_ || (norm != nullptr && !std::isfinite(norm->value));
    with_zero_grad_ = with_zero_grad_ || (norm != nullptr && norm->value == 0);
    last_zero_ = sample;
    if (zeros_++ == 0) {
      first_zero_ = sample;
      before_ = last_other_;
      others_before_ = others_;
    }
    ++zero_run_;
    if (zero_run_ == 3) out.push_back(describe(context));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (zeros_ > 0) out.push_back(describe(context));
    const std::uint64_t all = zeros_ + others_;
    const bool enough =
        all >= k_constant_run || (all >= k_constant_few && (parts_equal_ || finely_printed()));
    if (enough && longest_value_ != 0 &&
        static_cast<double>(longest_) >= k_constant_share * static_cast<double>(all))
      out.push_back(describe_constant(context));
  }

 private:
  /// Sum of the loss components of the frame; NaN where there are none.
  static double parts_of(const detectors::Frame& frame) {
    double sum = 0;
    bool any = false;
    for (const detectors::Reading& reading : frame.readings) {
      if (reading.role != record::Role::loss_component) continue;
      sum += reading.value;
      any = true;
    }
    return any ? sum : std::numeric_limits<double>::quiet_NaN();
  }

  void count_equal(const detectors::Sample& sample, double parts) {
    if (!seen_first_) first_seen_ = sample.value;
    seen_first_ = true;
    parts_equal_ = parts_equal_ && (run_length_ == 0 || parts == parts_);
    parts_ = parts;
    if (run_length_ > 0 && sample.value == run_value_) {
      ++run_length_;
    } else {
      run_length_ = 1;
      run_value_ = sample.value;
      run_first_ = sample;
    }
    if (run_length_ <= longest_) return;
    longest_ = run_length_;
    longest_value_ = run_value_;
    longest_first_ = run_first_;
    longest_last_ = sample;
  }

  /// More than three digits after the point: such a number does not come twice by chance.
  bool finely_printed() const {
    const double thousandths = longest_value_ * 1000;
    return std::fabs(thousandths - std::round(thousandths)) > 1e-6 * std::fabs(thousandths);
  }

  bool rounded() const { return others_before_ > 0 && std::fabs(before_.value) < k_rounded; }

  core::Severity severity(const detectors::RunContext& context, double share) const {
    if (context.reinforcement || rounded()) return core::Severity::note;
    if (others_ == 0 && zeros_ == 1 && !with_nan_grad_ && !with_zero_grad_)
      return core::Severity::warning;
    const bool to_the_end =
        zero_run_ >= 2 || (zero_run_ == 1 && (with_nan_grad_ || with_zero_grad_));
    if (to_the_end || share > k_share_failed) return core::Severity::failed;
    return zeros_ > 1 ? core::Severity::unstable : core::Severity::warning;
  }

  detectors::Symptom describe(const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.zero";
    symptom.series = "loss";
    const double share = static_cast<double>(zeros_) / static_cast<double>(zeros_ + others_);
    symptom.severity = severity(context, share);
    symptom.first_step = first_zero_.step;
    symptom.last_step = last_zero_.step;
    auto& measures = symptom.measures;
    measures["share"] = share;
    measures["count"] = static_cast<double>(zeros_);
    measures["from_step"] = static_cast<double>(first_zero_.step);
    measures["after_first"] = others_before_ == 1;
    measures["with_nan_grad"] = with_nan_grad_;
    measures["with_zero_grad"] = with_zero_grad_;
    measures["always"] = others_ == 0;
    measures["rounded"] = rounded();
    if (others_before_ > 0) measures["before"] = before_.value;
    symptom.summary =
        others_before_ == 0
            ? fmt::format("loss is exactly 0 from the first value on ({})",
                          at_step(context, first_zero_.step))
            : fmt::format("loss {} -> exactly 0 at {}", core::show_number(before_.value),
                          at_step(context, first_zero_.step));
    symptom.summary += fmt::format(", {} of {} values", zeros_, zeros_ + others_);
    if (with_nan_grad_) symptom.summary += ", while grad_norm is nan";
    if (context.reinforcement) symptom.summary += " (normal for a policy loss)";
    if (others_before_ > 0) add_evidence(symptom, before_.origin);
    add_evidence(symptom, first_zero_.origin);
    if (zeros_ > 1) add_evidence(symptom, last_zero_.origin);
    return symptom;
  }

  detectors::Symptom describe_constant(const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.constant";
    symptom.series = "loss";
    const bool finite = std::isfinite(longest_value_);
    symptom.severity =
        !finite || context.reinforcement ? core::Severity::note : core::Severity::failed;
    symptom.first_step = longest_first_.step;
    symptom.last_step = longest_last_.step;
    symptom.measures["value"] = longest_value_;
    symptom.measures["share"] =
        static_cast<double>(longest_) / static_cast<double>(zeros_ + others_);
    // Weights that never train leave no other value before it.
    symptom.measures["changed_before"] = seen_first_ && first_seen_ != longest_value_;
    symptom.summary = fmt::format("loss is exactly {} in {} values in a row, {}",
                                  core::show_number(longest_value_, 7), longest_,
                                  over_steps(context, longest_first_.step, longest_last_.step));
    add_evidence(symptom, longest_first_.origin);
    add_evidence(symptom, longest_last_.origin);
    return symptom;
  }

  std::uint64_t zeros_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t others_before_ = 0;
  std::uint64_t zero_run_ = 0;
  bool with_nan_grad_ = false;
  bool with_zero_grad_ = false;
  detectors::Sample first_zero_;
  detectors::Sample last_zero_;
  detectors::Sample last_other_;
  detectors::Sample before_;

  double parts_ = 0;
  bool parts_equal_ = true;
  std::uint64_t run_length_ = 0;
  double run_value_ = 0;
  bool seen_first_ = false;
  double first_seen_ = 0;
  detectors::Sample run_first_;
  std::uint64_t longest_ = 0;
  double longest_value_ = 0;
  detectors::Sample longest_first_;
  detectors::Sample longest_last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_zero_detector() {
  return std::make_unique<LossZeroDetector>();
}

}  // namespace aplomb::loss_detectors

/// Noise that comes back: the scatter of single batches about the trend is a fingerprint of the data
/// and of their order. The same scatter in each pass says that nobody shuffles; that of the run's
/// beginning again behind a resume, that the data began anew; the same numbers to the digit, that
/// the weights do not move.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/median.h"
#include "core/robust_window.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_most = 1024;  // samples that are kept, from the run's beginning
constexpr std::size_t k_trend = 5;    // neighbours whose median is the trend
constexpr std::size_t k_least_lag = 5;
constexpr std::size_t k_least_pairs = 16;
/// Correlation of two stretches of noise. Of 20 pairs of independent numbers one in ten thousand
/// correlates by 0.75; some hundred lags are tried.
constexpr double k_alike = 0.85;
constexpr double k_resume_pairs = 8;
constexpr double k_resume_alike = 0.92;

const detectors::DetectorSpec& loss_repetition_spec() {
  static const detectors::DetectorSpec spec{
      "loss.repetition",
      {"loss.repeats", "resume.data_again"},
      "The noise of the loss from batch to batch repeats an earlier stretch",
      "Batches that come in one order each pass, or again from the first one after a resume, are "
      "learnt in that order and some are never seen.",
      "the ups and downs of records 0 to 40 again in records 41 to 81",
      {record::Role::loss},
      {{"alike", k_alike, "correlation", 0.5, 1,
        "of 16 pairs of independent numbers one in a million correlates by that"},
       {"pairs", static_cast<double>(k_least_pairs), "samples", 5, 1000, "see alike"}},
      {"https://docs.pytorch.org/docs/stable/data.html"}};
  return spec;
}

/// Of what follows the trend nothing is left.
std::vector<double> scatter_of(const std::vector<double>& values) {
  std::vector<double> scatter(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    core::SortedWindow<2 * k_trend + 1> window;
    const std::size_t from = i < k_trend ? 0 : i - k_trend;
    for (std::size_t k = from; k < std::min(values.size(), i + k_trend + 1); ++k)
      window.push(values[k]);
    scatter[i] = values[i] - window.median();
  }
  return scatter;
}

struct Likeness {
  double correlation = 0;
  std::size_t pairs = 0;
  std::size_t equal = 0;  ///< pairs of values that are the same number
};

/// Ranks withstand the one batch that stands out of all.
double clipped(double value, double limit) { return std::clamp(value, -limit, limit); }

Likeness compare(const std::vector<double>& values, const std::vector<double>& scatter,
                 std::size_t a, std::size_t b, std::size_t count) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(std::fabs(scatter[a + i]));
  const double limit = 4 * core::upper_median(std::move(sizes));
  double xy = 0;
  double xx = 0;
  double yy = 0;
  Likeness likeness;
  likeness.pairs = count;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = clipped(scatter[a + i], limit);
    const double y = clipped(scatter[b + i], limit);
    xy += x * y;
    xx += x * x;
    yy += y * y;
    if (values[a + i] == values[b + i]) ++likeness.equal;
  }
  likeness.correlation = xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
  return likeness;
}

class LossRepetitionDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_repetition_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr) return;
    const bool resumed = std::find(context.resumed_at.begin(), context.resumed_at.end(),
                                   frame.step) != context.resumed_at.end();
    if (samples_.size() >= k_most) return;
    if (!samples_.empty() && (frame.segment != segment_ || resumed) && restart_ == 0)
      restart_ = samples_.size();
    segment_ = frame.segment;
    samples_.push_back(sample_of(frame, *loss));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || samples_.size() < 2 * k_least_pairs) return;
    std::vector<double> values;
    for (const detectors::Sample& sample : samples_) values.push_back(sample.value);
    const std::vector<double> scatter = scatter_of(values);
    if (restart_ > 0) report_resume(values, scatter, context, out);
    if (restart_ == 0) report_passes(values, scatter, context, out);
  }

 private:
  /// The stretch behind the resume against the run's beginning.
  void report_resume(const std::vector<double>& values, const std::vector<double>& scatter,
                     const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    const std::size_t count = std::min(restart_, values.size() - restart_);
    if (static_cast<double>(count) < k_resume_pairs) return;
    // Steps that are done again are the same by right: the data went back with the weights.
    const bool repeated = samples_[restart_].step <= samples_[0].step;
    const Likeness likeness = compare(values, scatter, 0, restart_, count);
    if (repeated || likeness.correlation < k_resume_alike || likeness.equal * 2 > count) return;
    detectors::Symptom symptom = about("resume.data_again", samples_[restart_], samples_.back());
    symptom.severity = core::Severity::warning;
    symptom.measures["correlation"] = likeness.correlation;
    symptom.measures["records"] = static_cast<double>(count);
    symptom.summary = fmt::format(
        "the noise of the loss behind the resume at {} is that of the run's first {} records "
        "(correlation {:.2f}): the data began anew",
        at_step(context, samples_[restart_].step), count, likeness.correlation);
    add_evidence(symptom, samples_[0].origin);
    out.push_back(std::move(symptom));
  }

  void report_passes(const std::vector<double>& values, const std::vector<double>& scatter,
                     const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    std::size_t best_lag = 0;
    Likeness best;
    for (std::size_t lag = k_least_lag; lag + k_least_pairs <= values.size(); ++lag) {
      const Likeness likeness = compare(values, scatter, 0, lag, values.size() - lag);
      // Several passes are alike at each multiple of one: the shortest is the pass.
      if (likeness.correlation < k_alike || likeness.correlation < best.correlation + 0.05)
        continue;
      best = likeness;
      best_lag = lag;
    }
    if (best_lag == 0) return;
    const bool exact = best.equal * 10 >= best.pairs * 9;
    detectors::Symptom symptom = about("loss.repeats", samples_[0], samples_.back());
    symptom.severity = exact ? core::Severity::warning : core::Severity::note;
    symptom.measures["records"] = static_cast<double>(best_lag);
    symptom.measures["steps"] = static_cast<double>(samples_[best_lag].step - samples_[0].step);
    symptom.measures["correlation"] = best.correlation;
    symptom.measures["exact"] = exact;
    symptom.measures["range_frac"] = range_of_pass(values, best_lag);
    symptom.summary =
        exact ? fmt::format(
                    "the loss repeats itself to the digit each {} records: the weights do "
                    "not move",
                    best_lag)
              : fmt::format(
                    "the noise of the loss comes back each {} {}s (correlation {:.2f}): the "
                    "same batches in the same order",
                    samples_[best_lag].step - samples_[0].step, context.step_word(),
                    best.correlation);
    out.push_back(std::move(symptom));
  }

  /// How far the last pass goes up and down, of its middle: in order of their classes batches are
  /// hard at each border and easy before the next.
  static double range_of_pass(const std::vector<double>& values, std::size_t lag) {
    core::SortedWindow<256> pass;
    for (std::size_t i = values.size() - std::min(values.size(), lag); i < values.size(); ++i)
      pass.push(values[i]);
    return (pass.quantile(0.9) - pass.quantile(0.1)) / std::max(pass.median(), 1e-12);
  }

  static detectors::Symptom about(const char* id, const detectors::Sample& first,
                                  const detectors::Sample& last) {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.series = "loss";
    symptom.first_step = first.step;
    symptom.last_step = last.step;
    add_evidence(symptom, first.origin);
    add_evidence(symptom, last.origin);
    return symptom;
  }

  std::vector<detectors::Sample> samples_;
  std::size_t restart_ = 0;  ///< first sample behind a resume; 0 where there was none
  std::uint16_t segment_ = 0;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_repetition_detector() {
  return std::make_unique<LossRepetitionDetector>();
}

}  // namespace aplomb::loss_detectors

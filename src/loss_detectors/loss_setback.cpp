/// A training loss that goes back to where it began, stays there for a while and has to come down
/// once more. Where it ends nothing is wrong, so what judges endings is silent; but all that was
/// learned before was lost on the way, and the end is as good as that of a much shorter run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/median.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

// Shares of the way down from the first record to the lowest one. A run is back at its start in the
// sense in which loss.divergence says so; none of the corpus runs that train well has such a
// setback (docs/accuracy.md).
constexpr double k_lost = 0.8;
constexpr double k_recovered = 0.5;
constexpr double k_was_low = 0.3;    // the records just before stood within this of the lowest
constexpr double k_way = 0.5;        // of the first loss: less is lost at a warm restart
constexpr double k_noise = 6;        // mean differences between neighbours: the rise is no noise
constexpr std::uint64_t k_long = 3;  // records: fewer are a spike
constexpr double k_share = 0.02;     // of the records so far, in long logs
constexpr std::size_t k_before = 5;

const detectors::DetectorSpec& loss_setback_spec() {
  static const detectors::DetectorSpec spec{
      "loss.setback",
      {"loss.setback"},
      "The loss goes back to where it began, and has to come down once more",
      "A stretch of damaged data, or steps that were too large, undid what had been learned.",
      "loss 5.6, 3.1, 1.9, 5.7, 5.6, 5.6, 3.4, 2.5",
      {record::Role::loss},
      {{"noise", k_noise, "mean differences", 1, 100,
        "of neighbouring records; of Gaussian noise about five standard deviations"},
       {"lost", k_lost, "fraction of the way down", 0.5, 1,
        "near enough to the first loss to say that nothing is left"},
       {"recovered", k_recovered, "fraction of the way down", 0.1, 1,
        "a loss that stays higher has diverged (loss.divergence)"},
       {"way", k_way, "fraction of the first loss", 0, 1,
        "a warm restart of the learning rate loses less"},
       {"long", static_cast<double>(k_long), "records", 1, 1000, "fewer are a spike"}},
      {"https://arxiv.org/abs/2204.02311"},
      true};
  return spec;
}

/// Mean size of what is added.
class MeanSize {
 public:
  void add(double value) {
    ++count_;
    mean_ += (std::abs(value) - mean_) / static_cast<double>(count_);
  }
  double mean() const { return mean_; }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
};

class LossSetbackDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_setback_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* reading = finite_of(frame, record::Role::loss);
    if (reading == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *reading);
    if (count_ > 0 && sample.step < last_step_) begin_anew();  // another run, or a resumed one
    last_step_ = sample.step;
    if (count_++ == 0) {
      first_ = sample;
      lowest_ = sample.value;
    }
    follow(sample);
    if (!open_ && count_ > 1) noise_.add(sample.value - last_);
    last_ = sample.value;
    before_[count_ % k_before] = sample.value;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || !longest_) return;
    const Setback& setback = *longest_;
    detectors::Symptom symptom;
    symptom.id = "loss.setback";
    symptom.severity = core::Severity::unstable;
    symptom.series = "loss";
    symptom.first_step = setback.begin.step;
    symptom.last_step = setback.end.step;
    symptom.measures["step"] = static_cast<double>(setback.begin.step);
    symptom.measures["before"] = setback.before;
    symptom.measures["peak"] = setback.peak;
    symptom.measures["records"] = static_cast<double>(setback.records);
    symptom.measures["share"] = static_cast<double>(setback.records) / static_cast<double>(count_);
    symptom.summary = fmt::format(
        "loss goes from {} back to {} at {} (it began at {}) and comes down again after {} records",
        core::show_number(setback.before), core::show_number(setback.peak),
        at_step(context, setback.begin.step), core::show_number(first_.value), setback.records);
    add_evidence(symptom, setback.begin.origin);
    add_evidence(symptom, setback.end.origin);
    out.push_back(std::move(symptom));
  }

 private:
  struct Setback {
    detectors::Sample begin, end;
    double before = 0;  ///< level of the records just before it
    double peak = 0;
    std::uint64_t records = 0;
  };

  void begin_anew() {
    count_ = 0;
    noise_ = {};
    open_.reset();
  }

  void follow(const detectors::Sample& sample) {
    const double way = first_.value - lowest_;
    if (open_) {
      if (sample.value >= first_.value - (1 - k_lost) * way) {
        ++open_->records;
        open_->peak = std::max(open_->peak, sample.value);
        open_->end = sample;
      } else if (sample.value <= first_.value - k_recovered * way) {
        close();
      }
      return;
    }
    if (count_ <= k_before) return;
    const double level = level_before();
    lowest_ = std::min(lowest_, level);
    if (way < k_way * first_.value || level > lowest_ + k_was_low * way) return;
    const double back = first_.value - (1 - k_lost) * way;
    if (sample.value < back || back - level < k_noise * noise_.mean()) return;
    open_ = Setback{sample, sample, level, sample.value, 1};
  }

  void close() {
    const auto least = std::max(static_cast<double>(k_long), k_share * static_cast<double>(count_));
    const bool counts = static_cast<double>(open_->records) >= least;
    if (counts && (!longest_ || open_->records > longest_->records)) longest_ = open_;
    open_.reset();
  }

  double level_before() const { return core::upper_median({before_.begin(), before_.end()}); }

  std::uint64_t count_ = 0;
  std::int64_t last_step_ = 0;
  detectors::Sample first_;
  double last_ = 0;
  double lowest_ = 0;  ///< of the levels, not of single records
  MeanSize noise_;     ///< differences between neighbours, outside of setbacks
  std::array<double, k_before> before_{};
  std::optional<Setback> open_;
  std::optional<Setback> longest_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_setback_detector() {
  return std::make_unique<LossSetbackDetector>();
}

}  // namespace aplomb::loss_detectors

/// A loss that falls by little and in a straight line: each unit of learning rate buys as much at
/// the end as at the beginning. A model that learns at its pace gains most in its first steps; one
/// that is still on the first slope after the whole run was moved too little.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::uint64_t k_least = 30;
constexpr double k_little = 0.25;  // of the start; more is learning, whatever its shape
constexpr double k_least_fall = 0.004;
constexpr double k_straight = 0.6;  // gain of the second half over the first's, a unit of rate
constexpr double k_sigma = 4.0;
/// Of the fall, at the quarters: a rate that decays to 0 in a straight line gives 0.19.
constexpr double k_off_line = 0.22;
constexpr double k_constant = 0.9;  // of the highest rate: below it the rate moves
constexpr double k_come_down =
    0.5;  // decays to 0 and to a tenth have passed it by two thirds of a run

const detectors::DetectorSpec& loss_crawls_spec() {
  static const detectors::DetectorSpec spec{
      "loss.crawls",
      {"loss.crawls"},
      "The loss falls by little, in a straight line over the whole run",
      "Weights that hardly move: the learning rate is too low for the number of steps.",
      "loss 5.54, 5.52, 5.50, ... 5.21 over 400 steps, as steep at the end as at the start",
      {record::Role::loss, record::Role::lr},
      {{"little", k_little, "fraction", 0.01, 0.9,
        "benchmark here: sound runs from scratch lose more of ln(classes) in their first hundreds "
        "of "
        "steps"},
       {"straight", k_straight, "fraction", 0, 1,
        "a power law with an exponent of 0.5 and more gains less than half as much in its second "
        "half (arXiv:2001.08361)"}},
      {"https://arxiv.org/abs/2001.08361"},
      true};
  return spec;
}

class LossCrawlsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_crawls_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* lr = finite_of(frame, record::Role::lr)) {
      if (last_lr_.value >= 0 && frame.step > last_lr_.step)
        path_ += lr->value * static_cast<double>(frame.step - last_lr_.step);
      last_lr_ = sample_of(frame, *lr);
      highest_lr_ = std::max(highest_lr_, lr->value);
      lowest_lr_ = std::min(lowest_lr_, lr->value);
    }
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr) return;
    losses_.add(sample_of(frame, *loss));
    paths_.add({path_, frame.step, {}});
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement || losses_.count() < k_least) return;
    const double start = losses_.median(0, 0.1);
    const double middle = losses_.median(0.45, 0.55);
    const double end = losses_.median(0.9, 1);
    if (!(start > 0)) return;
    const double fall = (start - end) / start;
    const double first = start - middle;
    const double second = middle - end;
    const double tenth = static_cast<double>(losses_.size()) / 10;
    const double error = 1.25 * losses_.noise() / std::sqrt(std::max(tenth, 1.0));
    if (fall < k_least_fall || fall > k_little || start - end < k_sigma * error) return;
    const double all = start - end;
    const double off = std::max(std::fabs(start - losses_.median(0.2, 0.3) - 0.25 * all),
                                std::fabs(start - losses_.median(0.7, 0.8) - 0.75 * all));
    if (off > k_off_line * all) return;  // a step, not a slope
    if (first <= 0 || second < k_straight * first * rate_ratio()) return;
    const bool begun = losses_.front().step <= (losses_.back().step - losses_.front().step) / 5;
    if (!begun) return;
    detectors::Symptom symptom;
    symptom.id = "loss.crawls";
    // Of a task that nothing tells, a first loss at ln of some number of classes is no proof: trained
    // language models begin between 1.5 and 3.0 as well (the bf16 stability checklist).
    const bool told = context.task.kind != task::Kind::unknown;
    const bool from_scratch = told && context.task.from_scratch && !is_unfinished();
    symptom.severity = from_scratch ? core::Severity::warning : core::Severity::note;
    symptom.series = "loss";
    symptom.first_step = losses_.front().step;
    symptom.last_step = losses_.back().step;
    symptom.measures["fall_frac"] = fall;
    symptom.measures["from_scratch"] = from_scratch;
    symptom.summary = fmt::format(
        "loss falls in a straight line by {} in all: {} -> {} -> {}, as fast at the end as at the "
        "start",
        detectors::percent(fall), core::show_number(start), core::show_number(middle),
        core::show_number(end));
    add_evidence(symptom, losses_.front().origin);
    add_evidence(symptom, losses_.back().origin);
    out.push_back(std::move(symptom));
  }

 private:
  /// Learning rate summed over the second half, over that of the first: what a decay leaves.
  double rate_ratio() const {
    const double middle = paths_.median(0.45, 0.55) - paths_.median(0, 0.1);
    const double end = paths_.median(0.9, 1) - paths_.median(0.45, 0.55);
    return middle > 0 && end > 0 ? std::min(end / middle, 1.5) : 1;
  }

  /// A schedule that moves and has not come down: the log ends in mid-run, and a run's first third is
  /// straighter than the whole.
  bool is_unfinished() const {
    return lowest_lr_ < k_constant * highest_lr_ && last_lr_.value > k_come_down * highest_lr_;
  }

  detectors::Kept losses_;
  detectors::Kept paths_;
  double highest_lr_ = 0;
  double lowest_lr_ = std::numeric_limits<double>::infinity();
  detectors::Sample last_lr_{-1, 0, {}};
  double path_ = 0;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_crawls_detector() {
  return std::make_unique<LossCrawlsDetector>();
}

}  // namespace aplomb::loss_detectors

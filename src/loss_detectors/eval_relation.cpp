/// What training and held-out losses say of each other beyond overfitting: a constant factor (a sum
/// where a mean is meant, micro-batches that are not divided by their number), and held-out numbers
/// that do not change by a digit (weights that do not move, a model that answers the same).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/robust_window.h"
#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

/// Dropout and augmentation raise a training loss by less.
constexpr double k_factor = 3.5;
constexpr double k_constant = 1.6;  // largest factor over the smallest
constexpr double k_near = 0.15;     // of a number that it may be
constexpr std::size_t k_least_evals = 2;
constexpr std::size_t k_least_frozen = 4;
constexpr double k_frozen_share = 0.4;  // of the evaluations, at the end
constexpr double k_digits = 1e-3;       // numbers of fewer digits than that recur by chance
constexpr double k_same_share = 0.6;
constexpr std::size_t k_least_missed = 3;
constexpr double k_nearly_all = 0.9;  // accuracy
constexpr double k_hardly = 0.2;      // F1 or recall

const detectors::DetectorSpec& eval_relation_spec() {
  static const detectors::DetectorSpec spec{
      "eval.relation",
      {"loss.scaled", "eval.frozen", "eval.same_accuracy", "eval.class_missed", "eval.hardly_met",
       "eval.elsewhere_worse", "eval.score_nothing"},
      "Training loss a constant factor above the held-out one; held-out numbers that never change",
      "A factor says that the loss is summed where it should be averaged, and the gradient with "
      "it; "
      "frozen numbers say that the weights do not move or that one answer is given to everything.",
      "loss 118, 124, 120 beside eval_loss 1.86: 64 times as much, with a batch of 64",
      {record::Role::loss, record::Role::eval_loss, record::Role::eval_accuracy},
      {{"factor", k_factor, "x", 1.5, 100,
        "benchmark here: sound runs with dropout and mixup stay below 2"},
       {"constant", k_constant, "x", 1.01, 10, "noise of single batches"},
       {"hardly", k_hardly, "fraction", 0.01, 1,
        "F1 = 2TP / (2TP + errors): below 0.2 at an accuracy of 0.9, at most one target in 80 is "
        "met"},
       {"frozen_share", k_frozen_share, "fraction", 0.1, 1,
        "a schedule at its end leaves the last evaluations alike"}},
      {},
      false,
      {task::Part::hits}};
  return spec;
}

/// Values of one metric, and how often the last one and the commonest one came.
class Repeats {
 public:
  void add(const detectors::Sample& sample) {
    if (count_ == 0) first_ = sample;
    if (count_ == 1) second_ = sample;
    if (count_ > 0 && sample.value == last_.value) {
      ++run_;
    } else {
      run_ = 1;
      since_ = sample;
    }
    last_ = sample;
    ++count_;
    for (auto& [value, times] : seen_) {
      if (times > 0 && value == sample.value) {
        ++times;
        return;
      }
    }
    if (kinds_ < seen_.size()) seen_[kinds_++] = {sample.value, 1};
  }
  std::size_t count() const { return count_; }
  std::size_t run() const { return run_; }  ///< equal ones at the end
  const detectors::Sample& since() const { return since_; }
  const detectors::Sample& first() const { return first_; }
  const detectors::Sample& second() const { return second_; }
  const detectors::Sample& last() const { return last_; }
  std::size_t commonest() const {
    std::size_t most = 0;
    for (const auto& [value, times] : seen_) most = std::max(most, times);
    return most;
  }
  double common_value() const {
    const auto most =
        std::max_element(seen_.begin(), seen_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->first;
  }

 private:
  std::array<std::pair<double, std::size_t>, 32> seen_{};
  std::size_t kinds_ = 0;
  std::size_t count_ = 0;
  std::size_t run_ = 0;
  detectors::Sample first_;
  detectors::Sample second_;
  detectors::Sample last_;
  detectors::Sample since_;
};

/// Whether a number is known to more digits than would recur by chance: it is no multiple of 0.01.
bool has_digits(double value) {
  const double hundreds = value * 100;
  return std::fabs(hundreds - std::round(hundreds)) > k_digits * std::fabs(hundreds) * 0.01;
}

class EvalRelationDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return eval_relation_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      losses_.add(sample_of(frame, *loss));
      recent_.push(loss->value);
    }
    add_finite(frame, record::Role::eval_accuracy, accuracies_);
    if (const detectors::Reading* hits = finite_part(frame, task::Part::hits)) {
      last_hit_ = sample_of(frame, *hits);
      if (hits_++ == 0) first_hit_ = last_hit_;
      most_hits_ = std::max(most_hits_, hits->value);
    }
    const detectors::Reading* eval = finite_of(frame, record::Role::eval_loss);
    if (eval == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *eval);
    evals_.add(sample);
    if (recent_.size() < 3 || !(sample.value > 0)) return;
    const double ratio = recent_.median() / sample.value;
    if (ratios_ == 0) least_ = most_ = ratio;
    least_ = std::min(least_, ratio);
    most_ = std::max(most_, ratio);
    middle_.push(ratio);
    ++ratios_;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement) return;
    report_factor(context, out);
    report_frozen(context, out);
    report_accuracy(context, out);
    report_missed(out);
    report_beside("eval.elsewhere_worse", context.task.elsewhere, "elsewhere", "on other data",
                  out);
    report_beside("eval.score_nothing", context.task.training_only, "training", "in training", out);
  }

 private:
  static bool is_near(double factor, const std::optional<task::Constant>& number) {
    return number && number->value > 1 &&
           std::fabs(factor - number->value) < k_near * number->value;
  }

  void report_factor(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (ratios_ < k_least_evals || least_ < k_factor || most_ > k_constant * least_) return;
    const double factor = middle_.median();
    detectors::Symptom symptom = about("loss.scaled", "loss", losses_.front(), losses_.back());
    symptom.measures["factor"] = factor;
    symptom.measures["is_batch"] = is_near(factor, context.task.batch);
    symptom.measures["is_accumulation"] = is_near(factor, context.task.accumulation);
    symptom.measures["is_world"] = is_near(factor, context.task.world);
    symptom.measures["is_power_of_two"] =
        std::fabs(std::log2(factor) - std::round(std::log2(factor))) < 0.12;
    symptom.measures["learns"] = losses_.median(0.75, 1) < 0.9 * losses_.median(0, 0.25);
    symptom.summary =
        fmt::format("training loss is {} times the held-out one all along ({} against {})",
                    core::show_number(factor, 3), core::show_number(losses_.back().value),
                    core::show_number(evals_.last().value));
    if (is_near(factor, context.task.batch)) {
      symptom.summary += ": a batch of " + core::show_number(context.task.batch->value) +
                         " is summed, not averaged";
    } else if (is_near(factor, context.task.accumulation)) {
      symptom.summary += ": " + core::show_number(context.task.accumulation->value) +
                         " micro-batches are summed, not averaged";
    }
    add_evidence(symptom, evals_.last().origin);
    out.push_back(std::move(symptom));
  }

  void report_frozen(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (evals_.count() < k_least_frozen || evals_.run() < k_least_frozen ||
        static_cast<double>(evals_.run()) < k_frozen_share * static_cast<double>(evals_.count()) ||
        !has_digits(evals_.last().value))
      return;
    detectors::Symptom symptom = about("eval.frozen", "eval_loss", evals_.since(), evals_.last());
    const bool from_start = evals_.run() == evals_.count();
    symptom.measures["from_start"] = from_start;
    symptom.measures["count"] = static_cast<double>(evals_.run());
    symptom.measures["share"] =
        static_cast<double>(evals_.run()) / static_cast<double>(evals_.count());
    symptom.measures["level"] = evals_.last().value;
    if (losses_.count() >= 3)
      symptom.measures["train_falls"] = losses_.median(0.75, 1) < 0.97 * losses_.median(0, 0.25);
    symptom.summary =
        fmt::format("held-out loss is {} at {} evaluations, to the last digit, from {} on",
                    core::show_number(evals_.last().value, 6), evals_.run(),
                    at_step(context, evals_.since().step));
    out.push_back(std::move(symptom));
  }

  /// The share of one class, again and again: the model gives one answer to everything.
  void report_accuracy(const detectors::RunContext& context,
                       std::vector<detectors::Symptom>& out) const {
    const double value = accuracies_.count() > 0 ? accuracies_.common_value() : 0;
    if (accuracies_.count() < k_least_frozen || value <= 0 || value == 1 || value >= 99.5) return;
    const auto times = static_cast<double>(accuracies_.commonest());
    // What has converged comes to one value late; what answers one class has it from the start.
    const bool early = accuracies_.first().value == value || accuracies_.second().value == value;
    if (times < k_same_share * static_cast<double>(accuracies_.count()) || !early ||
        !has_digits(value > 1 ? value / 100 : value))
      return;
    if (evals_.count() > 0 && evals_.run() == evals_.count()) return;  // nothing changes at all
    detectors::Symptom symptom =
        about("eval.same_accuracy", "eval_accuracy", accuracies_.first(), accuracies_.last());
    symptom.severity = core::Severity::note;
    const double share = value > 1 ? value / 100 : value;
    symptom.measures["value"] = share;
    symptom.measures["share"] = times / static_cast<double>(accuracies_.count());
    if (context.task.classes)
      symptom.measures["at_chance"] = share < 1.3 / context.task.classes->value;
    symptom.summary =
        fmt::format("held-out accuracy is {} at {:.0f} of {} evaluations: one answer to everything",
                    core::show_number(value), times, accuracies_.count());
    out.push_back(std::move(symptom));
  }

  /// Nearly all is said to be right, and what is looked for is hardly ever met: accuracy and F1 are
  /// not of the same targets, or the classes drown in the others.
  void report_hardly_met(double share, std::vector<detectors::Symptom>& out) const {
    if (share < k_nearly_all || most_hits_ <= 0 || most_hits_ >= k_hardly) return;
    detectors::Symptom symptom = about("eval.hardly_met", "f1", first_hit_, last_hit_);
    symptom.measures["accuracy"] = share;
    symptom.measures["most"] = most_hits_;
    symptom.summary = fmt::format(
        "recall or F1 is {} at best beside an accuracy of {}: they are not of the same targets, or "
        "one class hides the others",
        core::show_number(most_hits_, 2), core::show_number(share, 3));
    out.push_back(std::move(symptom));
  }

  /// Right on most samples, and a class of which not one is found.
  void report_missed(std::vector<detectors::Symptom>& out) const {
    if (hits_ < k_least_missed || accuracies_.count() == 0) return;
    const double last = accuracies_.last().value;
    const double share = last > 1 ? last / 100 : last;
    report_hardly_met(share, out);
    if (share < 0.6 || most_hits_ > 0) return;
    detectors::Symptom symptom = about("eval.class_missed", "recall", first_hit_, last_hit_);
    symptom.measures["accuracy"] = share;
    symptom.measures["count"] = static_cast<double>(hits_);
    symptom.summary = fmt::format(
        "recall or F1 is 0 in all {} evaluations beside an accuracy of {}: one class is never "
        "answered",
        hits_, core::show_number(share, 3));
    out.push_back(std::move(symptom));
  }

  /// The score of another data set beside that of the held-out data.
  static void report_beside(const char* id, const std::optional<task::Elsewhere>& pair,
                            const char* other, const char* words,
                            std::vector<detectors::Symptom>& out) {
    if (!pair) return;
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = core::Severity::warning;
    symptom.series = pair->name;
    symptom.measures["held_out"] = pair->held_out;
    symptom.measures[other] = pair->elsewhere;
    symptom.summary =
        fmt::format("{} is {} on held-out data and {} {}", pair->name,
                    core::show_number(pair->held_out), core::show_number(pair->elsewhere), words);
    add_evidence(symptom, pair->origin);
    out.push_back(std::move(symptom));
  }

  static detectors::Symptom about(const char* id, const char* series,
                                  const detectors::Sample& first, const detectors::Sample& last) {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = core::Severity::warning;
    symptom.series = series;
    symptom.first_step = first.step;
    symptom.last_step = last.step;
    add_evidence(symptom, first.origin);
    add_evidence(symptom, last.origin);
    return symptom;
  }

  detectors::Kept losses_;
  core::SortedWindow<16> recent_;
  core::SortedWindow<64> middle_;
  Repeats evals_;
  Repeats accuracies_;
  std::size_t hits_ = 0;
  double most_hits_ = 0;
  detectors::Sample first_hit_;
  detectors::Sample last_hit_;
  std::size_t ratios_ = 0;
  double least_ = 0;
  double most_ = 0;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_eval_relation_detector() {
  return std::make_unique<EvalRelationDetector>();
}

}  // namespace aplomb::loss_detectors

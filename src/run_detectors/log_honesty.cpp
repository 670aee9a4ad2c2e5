/// What the log does not say, or says wrongly: a NaN written as 0.0, a running average repeated in
/// its place, values averaged over a window, ranks that are missing, steps written twice. Said, and
/// used as evidence.

#include <fmt/format.h>

#include <algorithm>

#include "core/robust_window.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::uint64_t k_repeats = 3;  // equal losses in a row, with enough digits
constexpr double k_duplicate_share = 0.02;

const detectors::DetectorSpec& log_honesty_spec() {
  static const detectors::DetectorSpec spec{
      "log.honesty",
      {"log.hidden_nan", "log.repeated_average", "log.windowed", "log.missing_ranks",
       "log.duplicate_steps"},
      "The log hides NaN, repeats an average, thins, misses ranks or writes steps twice",
      "Who trusts such a log looks for the fault in the wrong place, or sees none.",
      "{'loss': 0.0, 'grad_norm': nan} (transformers' logging_nan_inf_filter)",
      {record::Role::loss, record::Role::grad_norm},
      {{"repeats", static_cast<double>(k_repeats), "records", 2, 100,
        "transformers' logging_nan_inf_filter adds the running average in place of a NaN"},
       {"duplicate_share", k_duplicate_share, "fraction", 0, 1,
        "a torn line and its second writing are no habit"}},
      {"https://github.com/huggingface/trl/issues/6702",
       "https://github.com/huggingface/trl/issues/6668",
       "https://huggingface.co/docs/transformers/main_classes/trainer"}};
  return spec;
}

/// Enough printed digits that equality is no chance: 1.2345 yes, 0.7 no.
bool finely_printed(double value) {
  const double hundredths = value * 100;
  return std::fabs(hundredths - std::round(hundredths)) >
         1e-6 * std::max(1.0, std::fabs(hundredths));
}

class LogHonestyDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return log_honesty_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = reading_of(frame, record::Role::loss);
    if (loss == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *loss);
    see_hidden(frame, sample);
    see_repeats(sample);
    see_steps(frame, context);
    last_ = sample;
    ++count_;
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (!context.reinforcement) {
      report_hidden(context, out);
      report_repeats(context, out);
    }
    report_window(context, out);
    report_duplicates(context, out);
    report_ranks(context, out);
  }

 private:
  static detectors::Symptom about(std::string id, core::Severity severity,
                                  const detectors::Sample& first, const detectors::Sample& last) {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "loss";
    symptom.first_step = first.step;
    symptom.last_step = last.step;
    add_evidence(symptom, first.origin);
    if (last.step != first.step) add_evidence(symptom, last.origin);
    return symptom;
  }

  void see_hidden(const detectors::Frame& frame, const detectors::Sample& sample) {
    const detectors::Reading* norm = reading_of(frame, record::Role::grad_norm);
    if (norm == nullptr || std::isfinite(norm->value) || !std::isfinite(sample.value)) return;
    // A finite loss beside a NaN gradient may be true (the backward pass alone failed); exactly 0
    // is not.
    if (sample.value != 0) return;
    if (hidden_++ == 0) first_hidden_ = sample;
    last_hidden_ = sample;
  }

  void see_repeats(const detectors::Sample& sample) {
    if (count_ > 0 && sample.value == last_.value && finely_printed(sample.value)) {
      if (++repeat_run_ == 1) run_first_ = last_;
      if (repeat_run_ + 1 > longest_) {
        longest_ = repeat_run_ + 1;
        longest_first_ = run_first_;
        longest_last_ = sample;
      }
      return;
    }
    if (count_ > 0 && std::isfinite(sample.value)) ++changes_;
    repeat_run_ = 0;
  }

  void see_steps(const detectors::Frame& frame, const detectors::RunContext& context) {
    if (count_ == 0 || frame.segment != segment_) {
      segment_ = frame.segment;
      return;
    }
    const std::int64_t delta = frame.step - last_.step;
    if (delta > 0) intervals_.push(static_cast<double>(delta));
    if (!context.counts_steps()) return;
    duplicates_.add(delta == 0);
    if (delta == 0 && duplicates_.hit == 1)
      first_duplicate_ = {0, frame.step, frame.readings.front().origin};
  }

  void report_hidden(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (hidden_ == 0) return;
    detectors::Symptom symptom =
        about("log.hidden_nan", core::Severity::warning, first_hidden_, last_hidden_);
    symptom.measures["count"] = static_cast<double>(hidden_);
    symptom.measures["from_step"] = static_cast<double>(first_hidden_.step);
    symptom.summary = fmt::format(
        "loss is written as 0.0 while grad_norm is nan, from {} on: the 0.0 stands for a NaN",
        at_step(context, first_hidden_.step));
    out.push_back(std::move(symptom));
  }

  void report_repeats(const detectors::RunContext& context,
                      std::vector<detectors::Symptom>& out) const {
    // A loss that never changes is a dead loss (loss.constant); an average repeats after it has
    // moved.
    if (longest_ < k_repeats || changes_ < 3) return;
    detectors::Symptom symptom =
        about("log.repeated_average", core::Severity::note, longest_first_, longest_last_);
    symptom.measures["count"] = static_cast<double>(longest_);
    symptom.measures["from_step"] = static_cast<double>(longest_first_.step);
    symptom.measures["value"] = longest_last_.value;
    symptom.summary = fmt::format(
        "loss is exactly {} in {} records, {}: an average repeated in place of new values",
        core::show_number(longest_last_.value, 6), longest_,
        over_steps(context, longest_first_.step, longest_last_.step));
    out.push_back(std::move(symptom));
  }

  void report_window(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (!context.counts_steps() || intervals_.size() < 3) return;
    const double interval = intervals_.median();
    if (interval < 2) return;
    detectors::Symptom symptom = about("log.windowed", core::Severity::note, last_, last_);
    symptom.measures["steps"] = interval;
    symptom.summary =
        fmt::format("one record in {} steps: single steps between are averaged or not seen",
                    core::show_number(interval));
    out.push_back(std::move(symptom));
  }

  void report_duplicates(const detectors::RunContext&, std::vector<detectors::Symptom>& out) const {
    if (duplicates_.hit < 2 || duplicates_.share() < k_duplicate_share) return;
    detectors::Symptom symptom =
        about("log.duplicate_steps", core::Severity::note, first_duplicate_, last_);
    symptom.measures["count"] = static_cast<double>(duplicates_.hit);
    symptom.measures["share"] = duplicates_.share();
    symptom.summary = fmt::format("{} of {} records repeat the step before them", duplicates_.hit,
                                  duplicates_.of);
    out.push_back(std::move(symptom));
  }

  static void report_ranks(const detectors::RunContext& context,
                           std::vector<detectors::Symptom>& out) {
    if (context.ranks.size() < 2) return;
    const std::int64_t expected =
        std::max<std::int64_t>(context.world_size.value_or(0), context.ranks.back() + 1);
    std::string missing;
    std::int64_t count = 0;
    for (std::int64_t rank = 0; rank < expected; ++rank) {
      if (std::binary_search(context.ranks.begin(), context.ranks.end(), static_cast<int>(rank)))
        continue;
      if (++count <= 8) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (count == 0) return;
    detectors::Symptom symptom;
    symptom.id = "log.missing_ranks";
    symptom.severity = core::Severity::note;
    symptom.measures["count"] = static_cast<double>(count);
    symptom.measures["expected"] = static_cast<double>(expected);
    symptom.summary = fmt::format("{} of {} ranks wrote no loss: {}{}", count, expected, missing,
                                  count > 8 ? ", ..." : "");
    out.push_back(std::move(symptom));
  }

  std::uint64_t count_ = 0;
  std::uint16_t segment_ = 0;
  std::uint64_t hidden_ = 0;
  std::uint64_t repeat_run_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t changes_ = 0;
  detectors::Tally duplicates_;
  core::SortedWindow<64> intervals_;
  detectors::Sample last_;
  detectors::Sample first_hidden_;
  detectors::Sample last_hidden_;
  detectors::Sample run_first_;
  detectors::Sample longest_first_;
  detectors::Sample longest_last_;
  detectors::Sample first_duplicate_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_log_honesty_detector() {
  return std::make_unique<LogHonestyDetector>();
}

}  // namespace aplomb::run_detectors

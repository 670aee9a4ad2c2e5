/// Speed over the run: steps that take longer and longer, throughput that drops, steps that wait
/// for data.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr double k_drift = 1.5;  // x: later steps take that much longer
constexpr double k_drift_note = 1.15;
constexpr double k_starved = 0.3;    // share of a step spent waiting for data
constexpr std::size_t k_least = 10;  // blocks

const detectors::DetectorSpec& time_drift_spec() {
  static const detectors::DetectorSpec spec{
      "time.drift",
      {"time.drift", "throughput.drop", "data.starved"},
      "Steps get slower over the run, or wait for data",
      "A drift is a leak, a fragmenting allocator, a hot card or a noisy neighbour; the run pays "
      "for it every step.",
      "step_time_s 0.41, 0.42, 0.48, 0.55, 0.63",
      {record::Role::step_time_s, record::Role::tokens_per_s, record::Role::samples_per_s,
       record::Role::data_time_s},
      {{"drift", k_drift, "x", 1.05, 10,
        "benchmark here: healthy runs stay within 15 % alone, within 1.45x beside busy neighbours"},
       {"starved", k_starved, "fraction", 0.05, 1,
        "the training debug playbook: data starvation; a third of the step is idle"}},
      {"https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"},
      false,
      {task::Part::compute_time}};
  return spec;
}

/// Medians of the first and of the last fifth of a series (its first block, with compilation and
/// cache misses, left out).
struct Ends {
  double early = 0;
  double late = 0;
  double noise = 0;
  bool known = false;
};

Ends ends_of(const core::BlockSummary& summary) {
  const auto blocks = summary.blocks();
  if (blocks.size() < k_least) return {};
  const std::size_t fifth = std::max<std::size_t>(3, blocks.size() / 5);
  core::SortedWindow<core::BlockSummary::k_blocks> early;
  core::SortedWindow<core::BlockSummary::k_blocks> late;
  core::SortedWindow<core::BlockSummary::k_blocks> steps;
  for (std::size_t i = 1; i <= fifth; ++i) early.push(blocks[i].level());
  for (std::size_t i = blocks.size() - fifth; i < blocks.size(); ++i) late.push(blocks[i].level());
  for (std::size_t i = 2; i < blocks.size(); ++i)
    steps.push(std::fabs(blocks[i].level() - blocks[i - 1].level()));
  return {early.median(), late.median(), steps.median() / 0.954, true};
}

class TimeDriftDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return time_drift_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* time = finite_of(frame, record::Role::step_time_s);
    const detectors::Reading* data = finite_of(frame, record::Role::data_time_s);
    const detectors::Reading* rate = finite_of(frame, record::Role::tokens_per_s);
    if (rate == nullptr) rate = finite_of(frame, record::Role::samples_per_s);
    if (time != nullptr && time->value > 0) {
      if (time_.count() > 0) rising_.add(time->value > last_time_.value);
      time_.add(frame.step, time->value);
      last_time_ = sample_of(frame, *time);
      if (data != nullptr && data->value >= 0) {
        // Some trainers count the waiting inside the step, some beside it: never more than the
        // whole.
        waiting_.push(data->value / std::max(time->value, data->value));
        last_data_ = sample_of(frame, *data);
      }
    }
    const detectors::Reading* compute = finite_part(frame, task::Part::compute_time);
    if (time == nullptr && data != nullptr && compute != nullptr && compute->value > 0) {
      waiting_.push(data->value / (data->value + compute->value));
      last_data_ = sample_of(frame, *data);
    }
    if (rate != nullptr && rate->value > 0) {
      rate_.add(frame.step, rate->value);
      last_rate_ = sample_of(frame, *rate);
    }
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    judge_waiting(k_least, context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    const Ends time = ends_of(time_);
    // What rises with every single record is the time since the start, whatever its name.
    const bool elapsed = rising_.of >= 10 && rising_.share() > 0.95;
    if (time.known && !elapsed && time.late - time.early > 4 * time.noise)
      drift("time.drift", "step_time_s", time.late / time.early, time, last_time_, context, out);
    const Ends rate = ends_of(rate_);
    if (rate.known && rate.early - rate.late > 4 * rate.noise)
      drift("throughput.drop", "tokens_per_s", rate.early / rate.late, rate, last_rate_, context,
            out);
    judge_waiting(3, context, out);
  }

 private:
  void judge_waiting(std::size_t least, const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (waiting_.size() >= least && waiting_.median() >= k_starved) starved(context, out);
  }

  static void drift(const char* id, const char* series, double ratio, const Ends& ends,
                    const detectors::Sample& last, const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) {
    if (ratio < k_drift_note) return;
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = ratio >= k_drift ? core::Severity::warning : core::Severity::note;
    symptom.series = series;
    symptom.last_step = last.step;
    symptom.measures["ratio"] = ratio;
    symptom.measures["early"] = ends.early;
    symptom.measures["late"] = ends.late;
    symptom.summary = fmt::format("{} {} early, {} at {}: {}x slower", series,
                                  core::show_number(ends.early, 3), core::show_number(ends.late, 3),
                                  at_step(context, last.step), core::show_number(ratio, 3));
    add_evidence(symptom, last.origin);
    out.push_back(std::move(symptom));
  }

  void starved(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom;
    symptom.id = "data.starved";
    symptom.severity = core::Severity::warning;
    symptom.series = "data_time_s";
    symptom.last_step = last_data_.step;
    symptom.measures["share"] = waiting_.median();
    symptom.summary = fmt::format("{} of each {} is waiting for data",
                                  detectors::percent(waiting_.median()), context.step_word());
    add_evidence(symptom, last_data_.origin);
    out.push_back(std::move(symptom));
  }

  detectors::Tally rising_;
  core::BlockSummary time_;
  core::BlockSummary rate_;
  core::SortedWindow<64> waiting_;
  detectors::Sample last_time_;
  detectors::Sample last_data_;
  detectors::Sample last_rate_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_time_drift_detector() {
  return std::make_unique<TimeDriftDetector>();
}

}  // namespace aplomb::run_detectors

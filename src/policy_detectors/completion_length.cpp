/// Completions in reinforcement learning: lengths that grow towards the limit, shrink to nothing,
/// or are cut off.

#include <fmt/format.h>

#include <algorithm>

#include "core/pair_sums.h"
#include "detectors/curve.h"
#include "detectors/range_watch.h"

namespace aplomb::policy_detectors {
namespace {

constexpr double k_cut =
    0.8;  // axolotl's training stability guide: above 0.8 most completions hit the limit
/// A correlation of -0.5 is chance in one of 40 runs of 20 records and one of 200 of 30 (t = -2.4, -3.1).
constexpr double k_correlated = -0.5;
constexpr std::uint64_t k_least_pairs = 20;
constexpr double k_cut_some = 0.25;  // judgement: fewer cost less than the noise of a reward
constexpr double k_growth = 1.5;
constexpr double k_collapse = 0.3;
constexpr double k_collapse_grave = 0.2;
/// A completion of one token is the end token and nothing else; half of such a mean is empty.
constexpr double k_empty = 1.5;
constexpr double k_empty_ratio = 0.5;
constexpr std::size_t k_least = 5;        // records
constexpr std::size_t k_least_live = 10;  // records, while the run goes on

const detectors::DetectorSpec& completion_length_spec() {
  static const detectors::DetectorSpec spec{
      "completion.length",
      {"completion_length.growth", "completion_length.collapse", "completion.truncated"},
      "Completions grow without end, shrink to nothing, or are cut at the limit",
      "A cut completion has no answer and so no reward; growth without end is reward hacking.",
      "completion_length 310, 520, 890, 1500, 2040 with a limit of 2048",
      {record::Role::completion_length, record::Role::completion_clipped_ratio,
       record::Role::reward},
      {{"cut", k_cut, "fraction", 0.1, 1, "axolotl's training stability guide: above 0.8"},
       {"growth", k_growth, "x", 1.1, 100, "half as long again, and still growing at the end"},
       {"collapse", k_collapse, "x", 0, 0.9, "less than a third of the first length"}},
      {"https://arxiv.org/abs/2503.14476", "https://huggingface.co/docs/trl/grpo_trainer"}};
  return spec;
}

class CompletionLengthDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return completion_length_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::completion_clipped_ratio, cut_);
    if (const detectors::Reading* reward = finite_of(frame, record::Role::reward)) {
      rewarded_.add(reward->value > 0);
      if (const detectors::Reading* cut = finite_of(frame, record::Role::completion_clipped_ratio))
        paid_.add(cut->value, reward->value);
    }
    const detectors::Reading* length = finite_of(frame, record::Role::completion_length);
    if (length == nullptr || length->value < 0) return;
    const detectors::Sample sample = sample_of(frame, *length);
    if (lengths_.count() == 0) first_ = sample;
    last_ = sample;
    lengths_.add(frame.step, length->value);
    recent_.push(length->value);
    if (!head_.full()) head_.push(length->value);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (cut_.lasting()) report_cut(context, out);
    if (lengths_.count() >= k_least_live) report_lengths(context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report_cut(context, out);
    report_lengths(context, out);
  }

 private:
  void report_lengths(const detectors::RunContext& context,
                      std::vector<detectors::Symptom>& out) const {
    if (lengths_.count() < k_least || !(head_.median() > 0)) return;
    const double ratio = recent_.median() / head_.median();
    const bool emptied = recent_.median() <= k_empty && ratio <= k_empty_ratio;
    if (ratio <= k_collapse || emptied)
      report_length("completion_length.collapse", ratio, context, out);
    if (ratio >= k_growth && grows())
      report_length("completion_length.growth", ratio, context, out);
  }

  /// Longest at the end, and rising in more than half of the steps between blocks.
  bool grows() const {
    const detectors::Curve curve = detectors::curve_of(lengths_);
    if (curve.size < k_least) return false;
    detectors::Tally up;
    for (std::size_t i = 1; i < curve.size; ++i) up.add(curve.smooth[i] >= curve.smooth[i - 1]);
    const double most = *std::max_element(
        curve.smooth.begin(), curve.smooth.begin() + static_cast<std::ptrdiff_t>(curve.size));
    return up.share() > 0.6 && curve.last > 0.9 * most;
  }

  /// A cut answer is not paid: over the records the reward is lower the more of them are cut.
  void report_unpaid(const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    if (paid_.count() < k_least_pairs || paid_.mean_x() < k_cut_some) return;
    const double correlation = paid_.correlation();
    if (correlation > k_correlated) return;
    detectors::Symptom symptom = detectors::describe_range(
        cut_, "completion.truncated", "completion_clipped_ratio", core::Severity::warning);
    symptom.measures["for_nothing"] = false;
    symptom.measures["mean"] = paid_.mean_x();
    symptom.measures["correlation"] = correlation;
    symptom.summary = fmt::format(
        "{} of the completions are cut at the length limit (mean to {}), and the reward is lower "
        "the "
        "more of them are (correlation {:.2f}); a longer limit (max_completion_length) lets "
        "answers "
        "end",
        detectors::percent(paid_.mean_x()), at_step(context, cut_.last().step), correlation);
    out.push_back(std::move(symptom));
  }

  void report_cut(const detectors::RunContext& context,
                  std::vector<detectors::Symptom>& out) const {
    if (!cut_.fires()) {
      report_unpaid(context, out);
      return;
    }
    const bool for_nothing = rewarded_.of > 0 && rewarded_.hit == 0;
    const core::Severity severity =
        for_nothing && cut_.count() >= 3 ? core::Severity::unstable : core::Severity::warning;
    detectors::Symptom symptom = detectors::describe_range(cut_, "completion.truncated",
                                                           "completion_clipped_ratio", severity);
    symptom.measures["for_nothing"] = for_nothing;
    symptom.summary =
        fmt::format("{} of the completions are cut at the length limit at {}",
                    detectors::percent(cut_.last().value), at_step(context, cut_.last().step));
    symptom.summary += for_nothing ? ", and none is rewarded"
                                   : "; a longer limit (max_completion_length) lets answers end";
    out.push_back(std::move(symptom));
  }

  void report_length(const char* id, double ratio, const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom;
    symptom.id = id;
    const bool grave = ratio <= k_collapse_grave && lengths_.count() >= 10;
    // Longer answers can be better ones; only those that are cut as well are a fault.
    symptom.severity = grave                        ? core::Severity::unstable
                       : ratio > 1 && !cut_.fires() ? core::Severity::note
                                                    : core::Severity::warning;
    symptom.series = "completion_length";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["first"] = head_.median();
    symptom.measures["last"] = recent_.median();
    symptom.measures["ratio"] = ratio;
    symptom.summary =
        fmt::format("completions {} {} -> {} tokens by {}", ratio > 1 ? "grow" : "shrink",
                    core::show_number(head_.median(), 3), core::show_number(recent_.median(), 3),
                    at_step(context, last_.step));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  detectors::RangeWatch cut_{detectors::RangeWatch::Side::above, k_cut};
  detectors::Tally rewarded_;
  core::PairSums paid_;  ///< share that is cut, reward
  core::BlockSummary lengths_;
  core::SortedWindow<3> head_;
  core::SortedWindow<5> recent_;
  detectors::Sample first_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_completion_length_detector() {
  return std::make_unique<CompletionLengthDetector>();
}

}  // namespace aplomb::policy_detectors

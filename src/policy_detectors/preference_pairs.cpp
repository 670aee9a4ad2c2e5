/// Pairs of a chosen and a rejected answer (DPO and its kin): a share of right orders that stays at
/// one half (the pairs are random), held-out pairs that are ordered while the training pairs are
/// not, answers called chosen that the model finds far less likely than the rejected ones (swapped),
/// and rewards that stay exactly 0 (the policy does not move).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::policy_detectors {
namespace {

constexpr std::uint64_t k_least = 12;
/// Of one half, for a mean over records of some dozen pairs each.
constexpr double k_even = 0.06;
constexpr double k_guess = 0.04;    // of ln 2
constexpr double k_held_out = 0.6;  // held-out pairs in the right order: the model can tell them
constexpr double k_unlikely = 2.5;  // log-probabilities, chosen over rejected: lengths differ less
constexpr double k_apart_nats = 1.0;  // a sequence
constexpr double k_still = 1e-6;
constexpr double k_reversed = 0.35;
constexpr double k_eval_even = 0.08;  // thirty pairs are known to 0.09
constexpr double k_exact = 1e-3;      // of ln 2, as printed
constexpr double k_moved_nats = 2.0;  // of a sequence's log-probability: more than batches differ
constexpr std::size_t k_least_apart = 3;
constexpr double k_apart_reward = 1.0;  // beta times nats
constexpr double k_hardly = 0.3;

const detectors::DetectorSpec& preference_pairs_spec() {
  static const detectors::DetectorSpec spec{
      "preference.pairs",
      {"preference.random", "preference.swapped", "preference.still", "preference.starts_apart"},
      "Pairs of answers teach nothing, or the wrong order",
      "Preferences that are random or swapped train a policy to be no better, or to be bad.",
      "rewards/accuracies 0.49, 0.51, 0.48 with a loss of 0.69 = ln 2, while held-out pairs reach "
      "0.7",
      {},
      {{"even", k_even, "fraction", 0, 0.3,
        "the mean of 20 records of 40 pairs of coin tosses is known to 0.02"},
       {"guess", k_guess, "fraction", 0, 0.5,
        "benchmark here: pairs that teach leave ln 2 further"},
       {"unlikely", k_unlikely, "x", 1, 10,
        "benchmark here: chosen answers are at most 1.3 times as unlikely, for their length"}},
      {"https://arxiv.org/abs/2305.18290"},
      false,
      {task::Part::preference_accuracy, task::Part::preference_margin, task::Part::logp_chosen,
       task::Part::logp_rejected, task::Part::reward_chosen}};
  return spec;
}

bool is_held_out(const detectors::RunContext& context, const detectors::Reading& reading) {
  return task::metric_words(context.series_names[reading.series]).held_out;
}

class PreferencePairsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return preference_pairs_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    for (const detectors::Reading& reading : frame.readings) {
      if (!std::isfinite(reading.value)) continue;
      const detectors::Sample sample = sample_of(frame, reading);
      if (reading.role == record::Role::loss) losses_.add(sample);
      if (reading.part == task::Part::none) continue;
      const bool held_out = is_held_out(context, reading);
      if (reading.part == task::Part::preference_accuracy)
        (held_out ? eval_right_ : right_).add(sample);
      if (held_out) continue;
      if (reading.part == task::Part::preference_margin) margins_.add(sample);
      if (reading.part == task::Part::logp_chosen) chosen_.add(sample);
      if (reading.part == task::Part::logp_rejected) rejected_.add(sample);
      if (reading.part == task::Part::reward_chosen) rewards_.add(sample);
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (right_.count() == 0 && margins_.count() == 0) return;
    if (is_still()) {
      out.push_back(still(context));
      return;
    }
    if (starts_apart()) out.push_back(apart(context));
    if (is_random()) out.push_back(random(context));
    if (is_swapped()) out.push_back(swapped(context));
  }

 private:
  static double mean(const detectors::Kept& kept, double from) {
    double sum = 0;
    std::size_t count = 0;
    for (auto i = static_cast<std::size_t>(from * static_cast<double>(kept.size()));
         i < kept.size(); ++i) {
      sum += kept[i].value;
      ++count;
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
  }

  bool is_still() const {
    if (margins_.count() < k_least) return false;
    // The margin of another loss may be 0 as well; that of a preference then costs ln 2.
    if (losses_.count() > 0 && std::fabs(losses_.median(0, 1) - std::numbers::ln2) > k_exact)
      return false;
    return std::all_of(
        margins_.samples().begin(), margins_.samples().end(),
        [](const detectors::Sample& each) { return std::fabs(each.value) < k_still; });
  }

  /// The two answers of every pair have one log-probability: they are the same text once processed.
  bool are_identical() const {
    if (chosen_.size() < k_least || chosen_.size() != rejected_.size()) return false;
    return std::equal(chosen_.samples().begin(), chosen_.samples().end(),
                      rejected_.samples().begin(), [](const auto& one, const auto& other) {
                        return one.step == other.step && one.value == other.value;
                      });
  }

  /// The policy's log-probabilities move although its margin over the reference stays 0.
  bool reference_follows() const { return moves(chosen_) || moves(rejected_); }

  static bool moves(const detectors::Kept& logps) {
    return logps.count() >= k_least &&
           std::fabs(logps.back().value - logps.front().value) > k_moved_nats;
  }

  /// Rewards are log-ratios to the reference: 0 before the first update. Where they begin far from
  /// it, by more than training then moves them, the reference is another model.
  bool starts_apart() const {
    if (rewards_.count() < k_least_apart) return false;
    const double first = rewards_.front().value;
    return std::fabs(first) > k_apart_reward &&
           std::fabs(rewards_.back().value - first) < k_hardly * std::fabs(first);
  }

  /// Held-out pairs are tossed, and the training loss is where it began.
  bool learns_nothing() const {
    return eval_right_.count() > 0 && std::fabs(eval_right_.back().value - 0.5) <= k_eval_even &&
           losses_.count() >= k_least &&
           std::fabs(losses_.median(0.25, 1) - std::numbers::ln2) < k_guess * std::numbers::ln2;
  }

  bool is_random() const {
    if (right_.count() >= k_least && learns_nothing()) return true;
    if (right_.count() < k_least || std::fabs(mean(right_, 0.25) - 0.5) > k_even) return false;
    if (losses_.count() < k_least) return true;
    const double level = losses_.median(0.5, 1);
    return std::fabs(level - std::numbers::ln2) < k_guess * std::numbers::ln2 ||
           level > std::numbers::ln2;
  }

  bool eval_tells() const {
    return eval_right_.count() > 0 && eval_right_.back().value >= k_held_out;
  }

  /// What is called chosen is far less likely than what is called rejected, before the first update
  /// has done anything.
  bool starts_reversed() const {
    if (chosen_.count() < 2 || rejected_.count() < 2) return false;
    const double chosen = -chosen_.front().value;
    const double rejected = -rejected_.front().value;
    return chosen > 0 && rejected > 0 && chosen > k_unlikely * rejected &&
           chosen - rejected > k_apart_nats;
  }

  /// The training pairs are learnt and the held-out pairs lose by it.
  bool ends_reversed() const {
    return right_.count() >= 3 && eval_right_.count() >= 2 && mean(right_, 0.5) > k_held_out &&
           eval_right_.back().value < k_reversed;
  }

  bool is_swapped() const { return starts_reversed() || ends_reversed(); }

  detectors::Symptom about(const char* id, const detectors::Kept& kept) const {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = core::Severity::warning;
    symptom.series = "rewards/accuracies";
    symptom.first_step = kept.front().step;
    symptom.last_step = kept.back().step;
    if (right_.count() > 0) symptom.measures["accuracy"] = mean(right_, 0.25);
    if (eval_right_.count() > 0) symptom.measures["eval_accuracy"] = eval_right_.back().value;
    add_evidence(symptom, kept.front().origin);
    add_evidence(symptom, kept.back().origin);
    return symptom;
  }

  detectors::Symptom random(const detectors::RunContext&) const {
    detectors::Symptom symptom = about("preference.random", right_);
    symptom.measures["eval_tells"] = eval_tells();
    symptom.summary = fmt::format(
        "training pairs are in the right order in {} of {} records' pairs, as by tossing "
        "coins",
        detectors::percent(mean(right_, 0.25)), right_.count());
    if (losses_.count() > 0)
      symptom.summary += fmt::format(", and the loss stays at {} (ln 2 = 0.6931)",
                                     core::show_number(losses_.median(0.5, 1)));
    if (eval_tells())
      symptom.summary +=
          fmt::format("; of held-out pairs {} are", detectors::percent(eval_right_.back().value));
    return symptom;
  }

  detectors::Symptom swapped(const detectors::RunContext&) const {
    detectors::Symptom symptom = about("preference.swapped", starts_reversed() ? chosen_ : right_);
    symptom.measures["starts_reversed"] = starts_reversed();
    symptom.measures["ends_reversed"] = ends_reversed();
    if (starts_reversed()) {
      symptom.measures["chosen"] = chosen_.front().value;
      symptom.measures["rejected"] = rejected_.front().value;
      symptom.series = "logps/chosen";
      symptom.summary = fmt::format(
          "before training the chosen answers are far less likely than the rejected ones: {} "
          "against "
          "{} nats",
          core::show_number(chosen_.front().value), core::show_number(rejected_.front().value));
    } else {
      symptom.summary = fmt::format(
          "training pairs are learnt ({} right) while held-out pairs fall to {}",
          detectors::percent(mean(right_, 0.5)), detectors::percent(eval_right_.back().value));
    }
    return symptom;
  }

  detectors::Symptom still(const detectors::RunContext&) const {
    detectors::Symptom symptom = about("preference.still", margins_);
    symptom.series = "rewards/margins";
    if (are_identical()) {
      symptom.measures["identical"] = true;
      symptom.summary = fmt::format(
          "chosen and rejected answers have the same log-probability in all {} records: they are "
          "one text by the time that they are compared",
          chosen_.count());
      return symptom;
    }
    // Without log-probabilities nobody knows.
    if (chosen_.count() > 0 || rejected_.count() > 0)
      symptom.measures["follows"] = reference_follows();
    symptom.summary =
        fmt::format("margins are 0 in all {} records: policy and reference are the same model",
                    margins_.count());
    if (reference_follows()) {
      const detectors::Kept& moved = moves(chosen_) ? chosen_ : rejected_;
      symptom.summary += fmt::format(
          ", which moves (log-probabilities {} -> {}): the reference shares its weights",
          core::show_number(moved.front().value), core::show_number(moved.back().value));
    }
    return symptom;
  }

  detectors::Symptom apart(const detectors::RunContext&) const {
    detectors::Symptom symptom = about("preference.starts_apart", rewards_);
    symptom.series = "rewards/chosen";
    symptom.measures["first"] = rewards_.front().value;
    symptom.measures["last"] = rewards_.back().value;
    symptom.summary = fmt::format(
        "rewards of chosen answers are {} in the first record and {} in the last: the reference is "
        "not the model that training began with, for which they are 0",
        core::show_number(rewards_.front().value), core::show_number(rewards_.back().value));
    return symptom;
  }

  detectors::Kept losses_;
  detectors::Kept right_;
  detectors::Kept eval_right_;
  detectors::Kept margins_;
  detectors::Kept chosen_;
  detectors::Kept rejected_;
  detectors::Kept rewards_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_preference_pairs_detector() {
  return std::make_unique<PreferencePairsDetector>();
}

}  // namespace aplomb::policy_detectors

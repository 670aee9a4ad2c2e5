/// The loss does not fall: never, or no longer although little was learned. A loss that has come
/// down and levels off is how training ends, and is a note.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "detectors/curve.h"
#include "detectors/fresh_start.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_flat_fall =
    0.03;  // "flat: less than 3 % fall over 20 records", as real runs were sorted
constexpr std::uint64_t k_least_samples = 20;
constexpr std::uint64_t k_least_epochs = 5;
constexpr double k_epoch_flat = 0.01;
constexpr std::uint64_t k_sure_samples = 100;
/// A run that goes on from a trained model may start at its floor: for thousands of steps a flat
/// loss far from any chance level is no fault by itself.
constexpr std::uint64_t k_long_samples = 4096;
constexpr double k_flat_share = 0.5;      // of the run
constexpr double k_little_learned = 0.1;  // of the start level
constexpr double k_chance_noise = 0.005;  // of the level
/// A log of so many losses, and steps, with a gradient norm above 0, that begins with the run: the
/// gradient had every occasion to lower the loss. (axolotl's training stability guide: a flat loss
/// over some hundred steps.)
constexpr std::uint64_t k_watched_samples = 40;
constexpr std::int64_t k_sure_steps = 200;
constexpr double k_chance_near = 0.004;  // of ln(classes)
constexpr double k_chance_far = 0.01;    // at most, where the level is known less well
constexpr int k_few_classes = 20;  // their levels lie far enough apart for a noisy loss to tell
constexpr double k_learnt = 0.8;   // of ln(vocabulary): frequencies alone get about so far
/// Entropies of single tokens over ln(vocabulary): 0.56 for bytes of English, about 0.7 for 50 k
/// tokens; pairs lie below 0.45 for bytes.
constexpr double k_frequencies_least = 0.45;
/// Nats. Pretrained language models begin below it on any text they know.
constexpr double k_untrained = 4.0;
constexpr double k_stuck_share = 0.7;
constexpr double k_stuck_level = 0.7;  // of the first loss, an average over the first records
constexpr double k_plan_done = 0.9;    // of the planned steps: what is flat by then stays so
constexpr double k_moved = 1.5;  // sigma of a sample; a median of five is known to 0.56 of them
constexpr double k_near = 0.03;  // of ln(vocabulary)
constexpr double k_hump = 0.8;   // of the first blocks: below it the first losses are told apart

const detectors::DetectorSpec& loss_plateau_spec() {
  static const detectors::DetectorSpec spec{
      "loss.plateau",
      {"loss.plateau", "loss.never_learned"},
      "The loss has not fallen since the start, or stopped falling early",
      "A flat loss spends GPU hours on nothing: frozen weights, a learning rate of 0, masked "
      "labels, lost updates.",
      "loss 10.82, 10.83, 10.82, 10.82 for 750 steps",
      {record::Role::loss, record::Role::lr, record::Role::grad_norm, record::Role::eval_loss},
      {{"flat_fall", k_flat_fall, "fraction", 0.001, 0.5,
        "benchmark here: healthy real runs fall by more"},
       {"least_samples", static_cast<double>(k_least_samples), "samples", 5, 1000,
        "fewer losses of single batches cannot show a fall of 3 %"},
       {"flat_share", k_flat_share, "fraction", 0.1, 1,
        "axolotl's training stability guide: stops early in training"},
       {"little_learned", k_little_learned, "fraction", 0, 1,
        "benchmark here: runs that converged had fallen by more before they levelled off"}},
      {"https://arxiv.org/abs/2001.08361"},
      true};
  return spec;
}

/// Number of classes whose uniform guess has this loss; 0 where it is none of the usual ones.
int chance_classes(double loss, double tolerance = k_chance_near) {
  // Usual class counts, and vocabularies of bytes, characters and small tokenizers.
  constexpr std::array k_usual{2,   3,    4,    5,    10,   20,   65,    100,  256,
                               512, 1000, 1024, 2048, 4096, 8192, 16384, 32000};
  for (const int classes : k_usual) {
    if (std::fabs(loss - std::log(classes)) < tolerance * std::log(classes)) return classes;
  }
  return 0;
}

/// ln of the vocabularies in use (30 k to 260 k tokens) lies between 10.3 and 12.5.
bool near_log_vocab(double loss, const detectors::RunContext& context) {
  if (context.vocab_size && *context.vocab_size > 1)
    return std::fabs(loss - std::log(*context.vocab_size)) < k_near * loss;
  return loss > 10.2 && loss < 12.6;
}

class LossPlateauDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_plateau_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    for (const detectors::Reading& reading : frame.readings) {
      if (reading.role != record::Role::loss && reading.value > 0) trains_ = true;
      if (reading.role == record::Role::grad_norm && std::isfinite(reading.value) &&
          reading.value > 0)
        see_norm(reading.value);
    }
    if (const detectors::Reading* eval = finite_of(frame, record::Role::eval_loss))
      evals_.push(eval->value);
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr) return;
    if (fresh_.update(frame.segment, loss->value)) {
      finish(context, out);
      blocks_ = core::BlockSummary();
      head_.clear();
    }
    if (!head_.full()) head_.push(loss->value);
    if (blocks_.count() == 0) first_ = sample_of(frame, *loss);
    last_ = sample_of(frame, *loss);
    zeros_ += loss->value == 0 ? 1 : 0;
    blocks_.add(frame.step, loss->value);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement) return;
    if (blocks_.count() < k_least_samples) {
      if (flat_over_epochs(context)) out.push_back(never_learned_in_epochs(context));
      return;
    }
    if (zeros_ * 2 > blocks_.count()) return;  // a dead loss, not a flat one
    detectors::Curve curve = detectors::curve_of(blocks_);
    // A hump in the first blocks is no start: the very first losses are.
    if (head_.full() && head_.median() < k_hump * curve.start) curve.start = head_.median();
    if (curve.size < 8 || curve.start <= 0 || curve.last <= 0) return;
    const double fell = (curve.start - std::min(curve.best, curve.last)) / curve.start;
    const double ended = (curve.start - curve.last) / curve.start;
    const bool rose = curve.last > curve.start * 1.3;  // divergence tells that
    if (rose) return;
    // Noise alone makes the lowest of many levels lie below the first.
    const double by_noise = 3 * curve.noise / curve.start;
    if (ended < k_flat_fall && fell < k_flat_fall + by_noise) {
      out.push_back(never_learned(curve, ended, context));
      return;
    }
    report_plateau(curve, context, out);
  }

 private:
  /// Classes among which a guess has the loss at which the run stands; 0 where noise could have hit
  /// one of the usual levels by chance.
  static int guessing_classes(const detectors::Curve& curve) {
    if (curve.noise >= k_chance_noise * curve.last) {
      // Whoever was better than a guess at some time does not guess: the lowest of many levels lies
      // three sigma below them by chance.
      if (curve.best < curve.middle - 4 * curve.noise) return 0;
      // A median of n blocks is known to 1.25 sigma / sqrt(n).
      const double known_to = 1.25 * curve.noise / std::sqrt(static_cast<double>(curve.size) / 2);
      const double tolerance = k_chance_near + known_to / curve.middle;
      const int classes = tolerance > k_chance_far ? 0 : chance_classes(curve.middle, tolerance);
      return classes <= k_few_classes ? classes : 0;
    }
    return chance_classes(curve.start) == chance_classes(curve.last) ? chance_classes(curve.last)
                                                                     : 0;
  }

  /// The loss came down from its very first values to the level at which it stays: the weights do
  /// move.
  bool settled_after_start(const detectors::Curve& curve) const {
    const double sigma = curve.noise * std::sqrt(static_cast<double>(blocks_.width()));
    return head_.full() && head_.median() - curve.middle > k_moved * sigma;
  }

  /// By how much of its level the loss differs from record to record.
  double scatter_of(const detectors::Curve& curve) const {
    return curve.noise * std::sqrt(static_cast<double>(blocks_.width())) / curve.middle;
  }

  /// Held-out losses were taken, and do not fall either.
  bool evals_flat() const {
    return evals_.size() >= 3 && evals_.least() > (1 - k_flat_fall) * evals_.median();
  }

  /// Averages of whole passes know the loss to parts in a thousand: five that are alike are flat.
  bool flat_over_epochs(const detectors::RunContext& context) const {
    if (!(context.step_kind == record::StepKind::epoch) || blocks_.count() < k_least_epochs ||
        !(last_.value > 0) || zeros_ > 0)
      return false;
    const auto blocks = blocks_.blocks();
    double least = blocks.front().least;
    double most = blocks.front().most;
    for (const core::Block& block : blocks) {
      least = std::min(least, block.least);
      most = std::max(most, block.most);
    }
    return most - least < k_epoch_flat * least;
  }

  detectors::Symptom never_learned_in_epochs(const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.never_learned";
    symptom.severity = core::Severity::warning;
    symptom.series = "loss";
    symptom.first_step = first_.step;
    symptom.last_step = last_.step;
    symptom.measures["start"] = first_.value;
    symptom.measures["last"] = last_.value;
    symptom.measures["samples"] = static_cast<double>(blocks_.count());
    symptom.measures["from_start"] = true;
    symptom.measures["learnt_before"] = false;
    symptom.measures["moved"] = false;
    symptom.measures["chance_classes"] = static_cast<double>(chance_classes(last_.value));
    symptom.summary = fmt::format(
        "loss has not fallen in {} {}s: {} at first, {} at last", blocks_.count(),
        context.step_word(), core::show_number(first_.value, 5), core::show_number(last_.value, 5));
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  void see_norm(double norm) {
    if (!norms_first_.full()) norms_first_.push(norm);
    norms_last_.push(norm);
  }

  detectors::Symptom never_learned(const detectors::Curve& curve, double fell,
                                   const detectors::RunContext& context) const {
    detectors::Symptom symptom;
    symptom.id = "loss.never_learned";
    symptom.series = "loss";
    // Only the whole of a long run from its first step on is proof; the log may begin where all was
    // learned.
    const bool from_start = curve.first_step <= (curve.last_step - curve.first_step) / 5;
    const bool sure = blocks_.count() >= k_sure_samples && from_start;
    const int classes = guessing_classes(curve);
    const bool at_chance = classes > 0;
    const bool guessing = near_log_vocab(curve.last, context) || at_chance;
    // A lone column of numbers near 2 may be anything (a noise floor, an evaluation, a loss that
    // was learnt before the log begins): no alarm without a sign that something was meant to move.
    const bool too_long = sure && blocks_.count() >= k_long_samples;
    symptom.severity = core::Severity::note;
    const bool watched = (!norms_first_.empty() || evals_flat()) && from_start &&
                         blocks_.count() >= k_watched_samples &&
                         curve.last_step - curve.first_step >= k_sure_steps;
    // A pretrained model may be at its floor: far below chance, flat says nothing by itself.
    const bool learnt_before = context.vocab_size && *context.vocab_size > 1 &&
                               curve.last < k_learnt * std::log(*context.vocab_size);
    if (guessing || (watched && !learnt_before)) symptom.severity = core::Severity::warning;
    if ((trains_ && too_long) || (guessing && from_start))
      symptom.severity = core::Severity::unstable;
    symptom.first_step = curve.first_step;
    symptom.last_step = curve.last_step;
    auto& measures = symptom.measures;
    measures["start"] = curve.start;
    measures["last"] = curve.last;
    measures["fall_frac"] = fell;
    measures["samples"] = static_cast<double>(blocks_.count());
    measures["from_start"] = from_start;
    measures["near_log_vocab"] = near_log_vocab(curve.last, context);
    measures["chance_classes"] = static_cast<double>(classes);
    measures["learnt_before"] = learnt_before;
    measures["moved"] = settled_after_start(curve);
    measures["scatter"] = scatter_of(curve);
    if (norms_first_.full()) measures["grad_ratio"] = norms_last_.median() / norms_first_.median();
    symptom.summary =
        fmt::format("loss has not fallen: {} at first, {} at last, {} values",
                    core::show_number(curve.start), core::show_number(curve.last), blocks_.count());
    if (at_chance) {
      symptom.summary += fmt::format("; that is ln {}, a guess among {} classes", classes, classes);
    } else if (near_log_vocab(curve.last, context)) {
      symptom.summary += "; about ln(vocabulary), a model that knows nothing";
    }
    add_evidence(symptom, first_.origin);
    add_evidence(symptom, last_.origin);
    return symptom;
  }

  /// Level of the five blocks before `end`: one that strays by noise does not end a flat stretch.
  static double level_before(const detectors::Curve& curve, std::size_t end) {
    core::SortedWindow<5> window;
    for (std::size_t i = end - std::min<std::size_t>(end, 5); i < end; ++i)
      window.push(curve.smooth[i]);
    return window.median();
  }

  /// The flat end of the curve: back to where it was above its last level by more than noise.
  static std::size_t flat_from(const detectors::Curve& curve) {
    const double band = std::max(0.01 * curve.last, 1.5 * curve.noise);
    const auto flat = [&](double level) { return std::fabs(level - curve.last) <= band; };
    std::size_t from = curve.size - 1;
    while (from > 0 && (flat(curve.smooth[from - 1]) || flat(level_before(curve, from)))) --from;
    return from;
  }

  void report_plateau(const detectors::Curve& curve, const detectors::RunContext& context,
                      std::vector<detectors::Symptom>& out) const {
    const std::size_t from = flat_from(curve);
    const double share = static_cast<double>(curve.size - from) / static_cast<double>(curve.size);
    if (share < k_flat_share) return;
    const double learned = (curve.start - curve.last) / curve.start;
    detectors::Symptom symptom;
    symptom.id = "loss.plateau";
    symptom.series = "loss";
    const bool little = learned < k_little_learned && blocks_.count() >= k_long_samples && trains_;
    symptom.severity = little ? core::Severity::warning : core::Severity::note;
    const std::int64_t from_step = blocks_.blocks()[from].first_step;
    symptom.first_step = from_step;
    symptom.last_step = curve.last_step;
    symptom.measures["level"] = curve.last;
    symptom.measures["from_step"] = static_cast<double>(from_step);
    symptom.measures["share"] = share;
    symptom.measures["learned_frac"] = learned;
    symptom.measures["start"] = curve.start;
    symptom.measures["scatter"] = scatter_of(curve);
    const bool frequencies = at_frequencies(curve, context);
    symptom.measures["at_frequencies"] = frequencies;
    const bool stuck = is_stuck(curve, share);
    symptom.measures["stuck"] = stuck;
    if (frequencies || stuck) symptom.severity = core::Severity::warning;
    symptom.summary =
        fmt::format("loss stays at {} from {} on ({} of the run)", core::show_number(curve.last),
                    at_step(context, from_step), detectors::percent(share));
    if (frequencies) {
      symptom.summary += ": the frequencies of tokens alone lead as far";
    } else if (stuck) {
      symptom.summary += fmt::format(", {} of the {} at which it began: what needs no inputs",
                                     detectors::percent(curve.last / first_.value),
                                     core::show_number(first_.value));
    }
    add_evidence(symptom, last_.origin);
    out.push_back(std::move(symptom));
  }

  /// From scratch, by a first loss that no pretrained model has, down in the first records alone and
  /// then flat for the rest, held-out losses too: it knows how often things are and nothing more.
  bool is_stuck(const detectors::Curve& curve, double share) const {
    const bool from_start = curve.first_step <= (curve.last_step - curve.first_step) / 5;
    return trains_ && from_start && share >= k_stuck_share && first_.value >= k_untrained &&
           curve.last > k_stuck_level * first_.value && blocks_.count() >= k_watched_samples &&
           (evals_.size() < 3 || evals_flat());
  }

  /// A model from scratch learns frequencies first and what follows what next. One that has done
  /// its steps and stays there got nothing out of its inputs.
  bool at_frequencies(const detectors::Curve& curve, const detectors::RunContext& context) const {
    if (!context.vocab_size || *context.vocab_size < 32 || !context.planned_steps) return false;
    const double guess = std::log(*context.vocab_size);
    const bool from_scratch = std::fabs(first_.value - guess) < k_near * guess;
    const bool done = static_cast<double>(curve.last_step) >=
                      k_plan_done * static_cast<double>(*context.planned_steps);
    return from_scratch && done && curve.last > k_frequencies_least * guess &&
           curve.last < k_learnt * guess;
  }

  core::BlockSummary blocks_;
  detectors::FreshStart fresh_;
  core::SortedWindow<5> head_;
  core::SortedWindow<32> norms_first_;
  core::SortedWindow<64> norms_last_;
  core::SortedWindow<16> evals_;
  bool trains_ = false;  // a learning rate or gradient norm above 0 was seen
  std::uint64_t zeros_ = 0;
  detectors::Sample first_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_plateau_detector() {
  return std::make_unique<LossPlateauDetector>();
}

}  // namespace aplomb::loss_detectors

/// Training loss against held-out loss: the held-out one rises while training falls (overfitting),
/// rises with it (divergence), lies below it (leak, dropout), or the training loss has gone to
/// nothing (memorised).

#include <fmt/format.h>

#include <algorithm>

#include "detectors/curve.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr double k_rise =
    0.1;  // "eval loss > 10 % over its minimum at the end", as real runs were sorted
constexpr double k_rise_diverged = 0.3;
/// Warned of while the run goes on: Prechelt's criteria GL 5 and UP 2 at once (a generalisation
/// loss of 5 % and two evaluations since the best one).
constexpr double k_rise_live = 0.05;
constexpr std::size_t k_since_best = 2;
constexpr double k_gap = 0.5;      // training loss below so much of the held-out one
constexpr double k_gained = 0.98;  // of the first evaluation: less is no gain
constexpr std::size_t k_many_evals = 8;
constexpr double k_gain_noise = 2;     // sigma of one evaluation
constexpr double k_fell_on = 0.75;     // of the training loss at the first evaluation
constexpr double k_better = 0.9;       // held-out loss below nine tenths of training loss
constexpr double k_perfect = 0.05;     // of the start level, or nats
constexpr double k_many_epochs = 3;    // fine-tuning recipes use 1 to 3
constexpr double k_many_answers = 4;   // nats: a guess among 55 or more
constexpr double k_most_answers = 14;  // nats: beyond it the loss is a sum, or no cross-entropy

const detectors::DetectorSpec& eval_overfit_spec() {
  static const detectors::DetectorSpec spec{
      "eval.overfit",
      {"eval.overfit", "eval.divergence", "eval.gap_widens", "eval.better_than_train",
       "eval.gap_large", "train.too_perfect"},
      "Held-out loss rises while training loss falls, or lies below it; training loss close to 0",
      "From the best step on the model learns the training set by heart; later checkpoints are "
      "worse.",
      "loss 1.2, 0.8, 0.5, 0.3 with eval_loss 1.3, 1.1, 1.2, 1.5",
      {record::Role::loss, record::Role::eval_loss, record::Role::epoch},
      {{"rise", k_rise, "fraction", 0.01, 1, "benchmark here: real runs marked as overfitting"},
       {"rise_diverged", k_rise_diverged, "fraction", 0.05, 10,
        "three times the above, with no gain in training"},
       {"gap", k_gap, "fraction", 0.05, 0.9,
        "judgement: half of the held-out loss, twice what dropout and the mean over a pass "
        "explain"},
       {"rise_live", k_rise_live, "fraction", 0.01, 1,
        "Prechelt, Early stopping - but when?: GL 5, the most patient of its threshold criteria"},
       {"better", k_better, "fraction", 0.1, 1, "dropout and averaging explain a tenth"},
       {"perfect", k_perfect, "nats", 0.001, 0.5,
        "twenty times below the start: text is not that predictable"},
       {"many_answers", k_many_answers, "nats", 1, 14,
        "a start at ln of 55 or more equally likely tokens: text, not a few classes"},
       {"many_epochs", k_many_epochs, "epochs", 1, 100, "fine-tuning recipes train 1 to 3 epochs"}},
      {"https://arxiv.org/abs/2203.02155",
       "https://page.mi.fu-berlin.de/prechelt/Biblio/stop_tricks1997.pdf"},
      true};
  return spec;
}

class EvalOverfitDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return eval_overfit_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    if (const detectors::Reading* epoch = finite_of(frame, record::Role::epoch))
      epoch_ = std::max(epoch_, epoch->value);
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss)) {
      train_.add(frame.step, loss->value);
      if (waits_) {
        waiting_.train = std::min(waiting_.train, loss->value);
        settle_below();
      }
      recent_.push(loss->value);
      last_train_ = sample_of(frame, *loss);
      if (train_.count() == 1) first_train_ = last_train_;
    }
    const detectors::Reading* eval = finite_of(frame, record::Role::eval_loss);
    if (eval == nullptr) return;
    const detectors::Sample sample = sample_of(frame, *eval);
    if (eval_.count() == 0) {
      first_eval_ = sample;
      if (!recent_.empty()) first_train_at_eval_ = recent_.median();
    }
    if (eval_.count() == 0 || sample.value < best_.value) {
      best_ = sample;
      best_train_ = recent_.median();
      after_best_.clear();
    } else {
      after_best_.push(sample.value);
    }
    if (!recent_.empty()) {
      settle_below();
      waiting_ = {sample.value, std::min(recent_.median(), last_train_.value)};
      waits_ = true;
    }
    last_eval_ = sample;
    eval_.add(frame.step, sample.value);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (context.reinforcement) return;
    if (eval_.count() >= 3 && after_best_.size() >= k_since_best)
      report_rise(last_eval_.value / best_.value - 1, k_rise_live, context, out);
    report_perfect(context, out);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (context.reinforcement) return;
    // The last evaluations, not one of them, stand above the best.
    if (eval_.count() >= 3 && !after_best_.empty()) {
      const double last = after_best_.size() >= 3 ? after_best_.median() : last_eval_.value;
      // Never better than at first, and worse at each evaluation since: a lesser rise will do.
      const bool never_better =
          best_.step == first_eval_.step && after_best_.size() >= k_since_best;
      const double least = never_better ? k_rise_live : k_rise;
      if (!report_rise(std::min(last, last_eval_.value) / best_.value - 1, least, context, out))
        report_gap(context, out);
    } else if (eval_.count() >= 3 && gained() && recent_.median() <= k_gap * last_eval_.value) {
      report_large_gap(recent_.median(), context, out);
    }
    settle_below();
    report_below(out);
    report_perfect(context, out);
  }

 private:
  /// A training loss is a mean over what came before it: while it falls, the next one is nearer to
  /// where the evaluation stood.
  void settle_below() {
    if (!waits_) return;
    below_.add(waiting_.eval < k_better * waiting_.train);
    waits_ = false;
  }

  bool report_rise(double rise, double least, const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    if (!(best_.value > 0) || rise < least || last_eval_.value - best_.value < 0.02) return false;
    const double train_now = recent_.median();
    const bool train_known = train_.count() >= 4;
    const bool train_fell = train_known && train_now < 0.98 * best_train_;
    const bool diverged = !train_fell && rise >= k_rise_diverged;
    if (!train_fell && !diverged) return false;
    detectors::Symptom symptom;
    symptom.id = diverged ? "eval.divergence" : "eval.overfit";
    symptom.severity = diverged ? core::Severity::unstable : core::Severity::warning;
    symptom.series = "eval_loss";
    symptom.first_step = best_.step;
    symptom.last_step = last_eval_.step;
    auto& measures = symptom.measures;
    measures["best"] = best_.value;
    measures["best_step"] = static_cast<double>(best_.step);
    measures["last"] = last_eval_.value;
    measures["rise_frac"] = rise;
    measures["ratio"] = 1 + rise;
    if (train_known) measures["gap"] = last_eval_.value - train_now;
    measures["train_known"] = train_known;
    if (epoch_ > 0) measures["epoch"] = epoch_;
    symptom.summary = fmt::format("eval_loss {} at {} is the best, {} at {} (+{})",
                                  core::show_number(best_.value), at_step(context, best_.step),
                                  core::show_number(last_eval_.value),
                                  at_step(context, last_eval_.step), detectors::percent(rise));
    if (train_fell) {
      symptom.summary += fmt::format(", while training loss falls {} -> {}",
                                     core::show_number(best_train_), core::show_number(train_now));
    }
    add_evidence(symptom, best_.origin);
    add_evidence(symptom, last_eval_.origin);
    out.push_back(std::move(symptom));
    return true;
  }

  /// The held-out loss got better than it was at first. The best of many evaluations does so by noise.
  bool gained() const {
    const detectors::Curve curve = detectors::curve_of(eval_);
    if (curve.size < k_many_evals) return best_.value < k_gained * first_eval_.value;
    const double gain = curve.start - curve.last;
    return gain > (1 - k_gained) * curve.start && gain > k_gain_noise * curve.noise;
  }

  /// The held-out loss stays where it was first measured, and the training loss leaves it far behind:
  /// what is learnt since then is the training set alone.
  void report_gap(const detectors::RunContext& context,
                  std::vector<detectors::Symptom>& out) const {
    const double now = recent_.median();
    if (!(now > 0) || first_train_at_eval_ <= 0) return;
    if (train_.count() < 4 || now > k_gap * last_eval_.value) return;
    if (gained()) {
      report_large_gap(now, context, out);
      return;
    }
    if (now > k_fell_on * first_train_at_eval_) return;
    detectors::Symptom symptom;
    symptom.id = "eval.gap_widens";
    symptom.severity = core::Severity::warning;
    symptom.series = "eval_loss";
    symptom.first_step = first_eval_.step;
    symptom.last_step = last_eval_.step;
    symptom.measures["first"] = first_eval_.value;
    symptom.measures["last"] = last_eval_.value;
    symptom.measures["gap"] = last_eval_.value - now;
    if (epoch_ > 0) symptom.measures["epoch"] = epoch_;
    symptom.summary = fmt::format(
        "eval_loss stays at {} from {} on ({} at {}), while the training loss falls {} -> {}",
        core::show_number(first_eval_.value), at_step(context, first_eval_.step),
        core::show_number(last_eval_.value), at_step(context, last_eval_.step),
        core::show_number(first_train_at_eval_), core::show_number(now));
    add_evidence(symptom, first_eval_.origin);
    add_evidence(symptom, last_eval_.origin);
    add_evidence(symptom, last_train_.origin);
    out.push_back(std::move(symptom));
  }

  /// The held-out loss still gets better, at more than twice the training loss: said, and no alarm.
  void report_large_gap(double now, const detectors::RunContext& context,
                        std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom;
    symptom.id = "eval.gap_large";
    symptom.severity = core::Severity::note;
    symptom.series = "eval_loss";
    symptom.first_step = first_eval_.step;
    symptom.last_step = last_eval_.step;
    symptom.measures["gap"] = last_eval_.value - now;
    symptom.summary = fmt::format(
        "the held-out loss, {} at {}, is more than twice the training loss, {}: a small gap is "
        "healthy, one that widens is overfitting",
        core::show_number(last_eval_.value), at_step(context, last_eval_.step),
        core::show_number(now));
    add_evidence(symptom, last_eval_.origin);
    add_evidence(symptom, last_train_.origin);
    out.push_back(std::move(symptom));
  }

  void report_below(std::vector<detectors::Symptom>& out) const {
    if (below_.of < 3 || below_.share() < 0.8 || recent_.median() <= 0) return;
    if (last_eval_.value >= recent_.median()) return;  // no longer
    detectors::Symptom symptom;
    symptom.id = "eval.better_than_train";
    symptom.severity = core::Severity::note;
    symptom.series = "eval_loss";
    symptom.first_step = first_eval_.step;
    symptom.last_step = last_eval_.step;
    symptom.measures["gap"] = recent_.median() - last_eval_.value;
    symptom.measures["ratio"] = last_eval_.value / recent_.median();
    symptom.measures["share"] = below_.share();
    symptom.summary =
        fmt::format("eval_loss {} lies below the training loss {} in {} of {} evaluations",
                    core::show_number(last_eval_.value), core::show_number(recent_.median()),
                    below_.hit, below_.of);
    add_evidence(symptom, last_eval_.origin);
    out.push_back(std::move(symptom));
  }

  void report_perfect(const detectors::RunContext& context,
                      std::vector<detectors::Symptom>& out) const {
    if (train_.count() < 3) return;
    const double start = std::max(first_train_.value, recent_.most());
    const double now = std::min(last_train_.value, recent_.median());
    // What came down from a blow-up and not below its start has learnt nothing.
    const bool far_down = now < k_perfect * start && now < first_train_.value;
    const bool gone = now > 0 && start > 0.5 && (far_down || now < k_perfect);
    if (!gone) return;
    const bool many = epoch_ > k_many_epochs ||
                      ((context.step_kind == record::StepKind::epoch) && last_train_.step > 10);
    // Held-out text is not that predictable either: what follows to nothing was learnt as well.
    const bool held_out_too = eval_.count() >= 2 && start >= k_many_answers &&
                              start <= k_most_answers && now < k_perfect &&
                              last_eval_.value < k_perfect;
    const bool unseen = many && start > 1.5 && eval_.count() == 0;
    detectors::Symptom symptom;
    symptom.id = "train.too_perfect";
    symptom.severity =
        unseen || (many && held_out_too) ? core::Severity::warning : core::Severity::note;
    symptom.series = "loss";
    symptom.first_step = first_train_.step;
    symptom.last_step = last_train_.step;
    symptom.measures["loss"] = now;
    symptom.measures["start"] = start;
    if (epoch_ > 0) symptom.measures["epoch"] = epoch_;
    symptom.measures["has_eval"] = eval_.count() > 0;
    symptom.measures["many_epochs"] = many;
    symptom.measures["held_out_too"] = held_out_too;
    symptom.summary = fmt::format("training loss falls {} -> {}", core::show_number(start),
                                  core::show_number(now));
    if (epoch_ > 0) symptom.summary += fmt::format(" in {} epochs", core::show_number(epoch_, 3));
    symptom.summary += ": the training set is known by heart";
    if (held_out_too) {
      symptom.summary += fmt::format(", and so are the held-out data (eval_loss {})",
                                     core::show_number(last_eval_.value));
    } else if (eval_.count() == 0) {
      symptom.summary += ", and nothing is held out to show it";
    }
    add_evidence(symptom, last_train_.origin);
    out.push_back(std::move(symptom));
  }

  core::BlockSummary train_;
  core::BlockSummary eval_;
  core::SortedWindow<8> recent_;      // training losses
  core::SortedWindow<3> after_best_;  // evaluations since the best
  detectors::Tally below_;
  struct Waiting {
    double eval = 0;
    double train = 0;  ///< the lower one of those before and behind
  };
  Waiting waiting_;
  bool waits_ = false;  ///< for the next training loss
  double epoch_ = 0;
  double best_train_ = 0;
  double first_train_at_eval_ = 0;  ///< training loss where the first evaluation stood
  detectors::Sample best_;
  detectors::Sample first_eval_;
  detectors::Sample last_eval_;
  detectors::Sample first_train_;
  detectors::Sample last_train_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_eval_overfit_detector() {
  return std::make_unique<EvalOverfitDetector>();
}

}  // namespace aplomb::loss_detectors

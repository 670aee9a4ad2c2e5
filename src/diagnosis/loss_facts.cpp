/// Facts of the course of the loss, on training and held-out data.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "diagnosis/finite_median.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// A log that begins in the middle of a run and whose loss climbs from its very first sample: what
/// a resume shows that restored the weights and not what moves them.
void derive_climb(FactView& view) {
  constexpr double k_middle = 0.5;  // of the steps that the log reaches
  constexpr double k_first_steps = 1000;
  constexpr double k_noise = 0.02;
  const record::Series* loss = view.series(record::Role::loss);
  const auto drop = view.number("loss.drop_frac");
  if (!drop || loss == nullptr || loss->empty() || !view.truth("loss.divergence") ||
      loss->step_kind != record::StepKind::explicit_)
    return;
  const auto first = static_cast<double>(loss->step.front());
  const auto last = static_cast<double>(loss->step.back());
  const bool midway = first > k_first_steps && first > k_middle * last;
  view.set("resume.climbs_from_start", midway && *drop <= k_noise,
           "the log begins at step " + core::show_number(first, 8) +
               " and the loss climbs from its first sample",
           {"loss.first", "loss.divergence"});
}

void derive_progress(FactView& view) {
  const auto first = view.number("loss.first");
  const auto lowest = view.number("loss.min");
  if (first && lowest && *first > 0) {
    const double drop = (*first - *lowest) / *first;
    view.set("loss.drop_frac", drop, "loss falls by " + core::show_number(100 * drop, 2) + " %",
             {"loss.first", "loss.last"});
  }
  const auto best = view.number("eval_loss.min");
  const auto points = view.number("eval_loss.points");
  if (const auto now = view.number("eval_loss.last"); now && best && points && *points >= 4) {
    // 10 % over the best: the corpus' own rule for a held-out loss that has turned.
    view.set("eval.rises", *now > 1.1 * *best && *best > 0,
             "held-out loss " + core::show_number(*best) + " at best, " + core::show_number(*now) +
                 " at the end",
             {"eval_loss.last"});
  }
  const auto train = view.number("loss.last");
  const auto held_out = view.number("eval_loss.last");
  if (train && held_out) {
    view.set("eval.gap", *held_out - *train,
             "eval loss " + core::show_number(*held_out) + " against training loss " +
                 core::show_number(*train),
             {"loss.last", "eval_loss.last"});
  }
}

/// How far the scores on held-out data are from those on the training data, over the second half
/// of the run.
void derive_generalisation(FactView& view) {
  const auto level = [&](record::Role role) -> std::optional<double> {
    const record::Series* series = view.series(role);
    if (series == nullptr || series->size() == 0) return std::nullopt;
    return finite_median(*series, series->size() / 2, series->size());
  };
  const auto share = [](double value) { return value > 1 && value <= 100 ? value / 100 : value; };
  const auto trained = level(record::Role::accuracy);
  const auto held_out = level(record::Role::eval_accuracy);
  if (!trained || !held_out) return;
  const double gap = share(*trained) - share(*held_out);
  view.set("eval.accuracy_gap", gap,
           "accuracy " + core::show_number(*trained) + " in training, " +
               core::show_number(*held_out) + " on held-out data",
           {"accuracy.last", "eval_accuracy.last"});
  // Regularised networks end 3 to 5 points apart (arXiv:1512.03385, figures of ImageNet and CIFAR);
  // three times that is a model that has learnt its samples.
  view.set("eval.gap_wide", gap >= 0.15,
           core::show_number(100 * gap, 3) + " points between training and held-out accuracy",
           {"eval.accuracy_gap"});
}

/// Three samples and more, too few for the detectors, that all lie at ln(classes): the model
/// guesses. Numbers of classes that data sets have; 2 is left to longer logs, where a
/// discriminator's or a preference loss near ln 2 would have moved.
void guess_in_a_scrap(FactView& view, const record::Series& loss) {
  constexpr std::size_t k_least = 3;
  constexpr std::size_t k_most = 7;      // longer ones have halves to compare
  constexpr double k_near = 0.005;       // of ln(classes): a model that learns has left it
  constexpr std::int64_t k_steps = 100;  // apart
  if (loss.size() < k_least || loss.size() > k_most) return;
  const bool far_apart = loss.step_kind == record::StepKind::epoch ||
                         loss.step[loss.size() - 1] - loss.step[0] >= k_steps;
  for (const double classes : {5.0, 10.0, 20.0, 21.0, 100.0, 200.0, 1000.0}) {
    const double guess = std::log(classes);
    const bool all = std::all_of(loss.value.begin(), loss.value.end(), [&](double value) {
      return std::fabs(value - guess) < k_near * guess;
    });
    if (!all || !far_apart) continue;
    view.set("loss.chance_level", true,
             "loss " + core::show_number(loss.value.back()) + " is ln(" +
                 core::show_number(classes) + "), that of guessing",
             {"loss.first", "loss.last"});
  }
}

/// Losses that no sound model shows.
void derive_large(FactView& view) {
  // A thousand nats are beyond any untrained classifier (ln of its classes) and beyond squared
  // errors of scaled targets; a run whose loss was always so large is judged by its growth.
  constexpr double k_huge = 1e3;
  constexpr double k_growth = 100;
  if (view.text("run.kind") == "rl") return;
  for (const record::Series& series : view.all_series()) {
    if (series.role != record::Role::loss && series.role != record::Role::loss_component) continue;
    const bool huge =
        series.max > k_huge && (series.count <= 3 || series.max > k_growth * std::fabs(series.min));
    if (!huge) continue;
    const bool first = !series.empty() && series.value.front() > k_huge;
    view.set("loss.large", true, series.name + " reaches " + core::show_number(series.max),
             {"loss.max"});
    view.set("loss.large.first", first,
             series.name + " starts at " + core::show_number(series.max));
    return;
  }
}

void derive_sum_over_accumulation(FactView& view) {
  const auto accumulation = view.number("batch.accumulation");
  const auto first = view.number("loss.first");
  if (!accumulation || *accumulation <= 1 || !first) return;
  view.set("loss.first_per_accumulation", *first / *accumulation,
           "first loss " + core::show_number(*first) + " over " + core::show_number(*accumulation) +
               " accumulation steps",
           {"loss.first", "batch.accumulation"});
}

/// Losses that do not move, and among them those of a guess.
void derive_flat(FactView& view) {
  const record::Series* loss = view.series(record::Role::loss);
  if (loss == nullptr || view.text("run.kind") == "rl") return;
  guess_in_a_scrap(view, *loss);
  constexpr std::size_t k_halves = 8;  // fewer samples than this have no halves worth comparing
  if (loss->size() < k_halves) return;
  const auto before = finite_median(*loss, 0, loss->size() / 2);
  const auto after = finite_median(*loss, loss->size() / 2, loss->size());
  if (!before || !after || *before <= 0) return;
  // A loss that trains falls by more than 3 % from the first half to the second; one that doubles
  // diverges instead.
  const bool flat = *after > 0.97 * *before && *after < 2 * *before;
  view.set("loss.flat", flat,
           "loss " + core::show_number(*before) + " in the first half, " +
               core::show_number(*after) + " in the second",
           {"loss.first", "loss.last"});
  double classes = view.number("data.class_count").value_or(0);
  if (classes < 2 && flat && std::fabs(*after - std::log(2.0)) < 0.005) classes = 2;
  if (flat && classes >= 2 && std::fabs(*after - std::log(classes)) < 0.02 * std::log(classes)) {
    view.set("loss.chance_level", true,
             "loss " + core::show_number(*after) + " is ln(" + core::show_number(classes) +
                 "), that of guessing",
             {"loss.last"});
  }
}

}  // namespace

std::vector<facts::Deriver> loss_facts() {
  return {
      {.name = "progress",
       .reads = {"loss.first", "loss.min", "loss.last", "eval_loss.min", "eval_loss.points",
                 "eval_loss.last"},
       .gives = {"loss.drop_frac", "eval.rises", "eval.gap"},
       .derive = derive_progress},
      {.name = "climb after a resume",
       .reads = {"series:loss", "loss.drop_frac", "loss.divergence", "loss.first"},
       .gives = {"resume.climbs_from_start"},
       .derive = derive_climb},
      {.name = "generalisation",
       .reads = {"series:accuracy", "series:eval_accuracy", "accuracy.last", "eval_accuracy.last"},
       .gives = {"eval.accuracy_gap", "eval.gap_wide"},
       .derive = derive_generalisation},
      {.name = "large losses",
       .reads = {"run.kind", "series:*", "loss.max"},
       .gives = {"loss.large", "loss.large.first"},
       .derive = derive_large},
      {.name = "loss summed over accumulation",
       .reads = {"batch.accumulation", "loss.first"},
       .gives = {"loss.first_per_accumulation"},
       .derive = derive_sum_over_accumulation},
      {.name = "flat losses",
       .reads = {"run.kind", "series:loss", "loss.first", "loss.last", "data.class_count"},
       .gives = {"loss.flat", "loss.chance_level"},
       .derive = derive_flat}};
}

}  // namespace aplomb::diagnosis

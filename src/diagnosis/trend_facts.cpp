/// Facts of how each metric went, and of how training and held-out metrics stand to each other.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/median.h"
#include "core/text.h"
#include "diagnosis/derivers.h"
#include "diagnosis/trend.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

struct Judged {
  record::Role role;
  Better better;
};

constexpr std::array<Judged, 7> k_judged = {{{record::Role::loss, Better::lower},
                                             {record::Role::eval_loss, Better::lower},
                                             {record::Role::perplexity, Better::lower},
                                             {record::Role::accuracy, Better::higher},
                                             {record::Role::eval_accuracy, Better::higher},
                                             {record::Role::reward, Better::higher},
                                             {record::Role::loss_component, Better::lower}}};

/// Held-out loss over training loss from which on they are far apart: what is learnt by heart. The
/// held-out loss of networks that generalise ends within some tens of percent of the training loss
/// (arXiv:1611.03530, table 1, regularised); twice it is another matter.
constexpr double k_far = 2;
/// Below it a held-out loss is next to nothing, however much less the training loss is.
constexpr double k_tiny_loss = 0.1;
/// Of ln(1 / accuracy): how near a loss has to be to it to be that of a guess.
constexpr double k_near_guess = 0.1;
/// An accuracy above one half is no guess among two or more.
constexpr double k_most_guess = 0.55;
constexpr std::size_t k_least_pairs = 3;

std::vector<record::Origin> ends_of(const FactView& view, const record::Series& series) {
  if (series.empty()) return {};
  const record::Series& shown = view.shown_by(series);
  return {shown.origin(0), shown.origin(series.size() - 1)};
}

std::string head_of(record::Role role) { return "trend." + std::string(name(role)) + "."; }

void derive_trend(const Judged& judged, FactView& view) {
  const record::Series* found = view.series(judged.role);
  if (found == nullptr) return;
  const record::Series& series = *found;
  const auto trend = trend_of(series.value, judged.better);
  if (!trend) return;
  const std::string head = head_of(judged.role);
  const std::vector<record::Origin> places = ends_of(view, series);
  const std::string words =
      fmt::format("{} {} -> {} over {} records, noise {} from record to record", series.name,
                  core::show_number(trend->start), core::show_number(trend->last), trend->records,
                  core::show_number(trend->noise, 2));
  view.set_at(head + "better", trend->better, words, places);
  view.set_at(head + "worse", trend->worse, words, places);
  view.set_at(head + "turned", trend->turned,
              fmt::format("{} was {} at best and ends at {}", series.name,
                          core::show_number(trend->best), core::show_number(trend->last)),
              places);
  view.set_at(head + "settled", trend->settled,
              fmt::format("{} came to {} in the first quarter of its records and stayed there",
                          series.name, core::show_number(trend->last)),
              places);
  view.set_at(head + "gain_frac", trend->gain_frac, words, places);
  view.set_at(head + "records", static_cast<double>(trend->records), words, {});
}

/// Held-out data against the loss that training began with and the one that it has now.
void compare_splits(FactView& view) {
  const record::Series* held_out = view.series(record::Role::eval_loss);
  const auto first = view.number("loss.first");
  const auto last = view.number("loss.last");
  if (held_out == nullptr || held_out->count < 2 || !first || !last || *first <= 0) return;
  const std::vector<record::Origin> places = ends_of(view, *held_out);
  const auto began = view.number("eval_loss.first");
  if (began && held_out->max > held_out->min) {
    view.set_at("eval.improved", held_out->min < *began,
                fmt::format("held-out loss {} at first, {} at best", core::show_number(*began),
                            core::show_number(held_out->min)),
                places);
  }
  const bool gained = began && *began - held_out->min >= k_least_gain * std::fabs(*began);
  view.set_at("eval.no_better_than_start", held_out->min >= *first && !gained,
              fmt::format("held-out loss {} at best, training began with {}",
                          core::show_number(held_out->min), core::show_number(*first)),
              places);
  const bool improves = view.truth("trend.eval_loss.better");
  const auto now = view.number("eval_loss.last");
  if (!now) return;
  // What got better and stands at its best is no worse for what training has gained beyond it.
  constexpr double k_at_best = 1.05;
  const bool at_best = gained && *now <= k_at_best * held_out->min;
  view.set_at(
      "eval.far_above_train",
      !improves && !at_best && *last > 0 && *now > std::max(k_far * *last, k_tiny_loss),
      fmt::format("held-out loss {} against a training loss of {}, and no better than it was",
                  core::show_number(*now), core::show_number(*last)),
      places);
}

/// Held-out data do not change, so that their loss does as soon as a weight does. Printed digits
/// may hide it where there are few.
void look_for_movement(FactView& view) {
  const record::Series* held_out = view.series(record::Role::eval_loss);
  constexpr std::uint64_t k_least = 3;
  constexpr double k_digits = 1e-3;  // of the value: what three digits show
  if (held_out == nullptr || held_out->count < k_least || held_out->nonfinite_count > 0) return;
  const double width = held_out->max - held_out->min;
  const bool constant = width == 0;
  if (!constant && width < k_digits * std::fabs(held_out->max)) return;  // too near to tell
  view.set_at("eval.exactly_constant", constant,
              fmt::format("held-out losses from {} to {} over {} evaluations",
                          core::show_number(held_out->min), core::show_number(held_out->max),
                          held_out->count),
              ends_of(view, *held_out));
}

double median_of(const record::Series& series) {
  std::vector<double> values;
  for (std::size_t i = series.size() / 2; i < series.size(); ++i) {
    if (std::isfinite(series.value[i])) values.push_back(series.value[i]);
  }
  return core::upper_median(std::move(values));
}

/// Who guesses among n classes alike has a loss of ln(n) and is right once in n times. Whoever has
/// learnt anything has a lower loss or a higher accuracy than the other one says.
void compare_with_a_guess(record::Role loss_role, record::Role accuracy_role,
                          const std::string& fact, FactView& view) {
  const record::Series* loss = view.series(loss_role);
  const record::Series* accuracy = view.series(accuracy_role);
  if (loss == nullptr || accuracy == nullptr) return;
  if (loss->size() < k_least_pairs || accuracy->size() < k_least_pairs) return;
  const double nats = median_of(*loss);
  double share = median_of(*accuracy);
  if (accuracy->max > 1 && accuracy->max <= 100) share /= 100;
  if (!(share > 0) || share > k_most_guess || !(nats > 0)) return;
  const double guess = std::log(1 / share);
  view.set_at(fact, std::fabs(nats - guess) <= k_near_guess * guess,
              fmt::format("{} {} and {} {}: who guesses among {} classes has both", loss->name,
                          core::show_number(nats), accuracy->name, core::show_number(share, 3),
                          core::show_number(std::round(1 / share))),
              ends_of(view, *accuracy));
}

/// Who answers blindly among n classes is right once in n times. A score far below that, while the training
/// loss falls below ln(n), is made: what was learnt is held against other numbers of the same classes.
/// (How far below is judgement over a few outsiders' runs in view, not measured apart.)
void look_below_a_guess(FactView& view) {
  const record::Series* accuracy = view.series(record::Role::eval_accuracy);
  const auto first = view.number("loss.first");
  const auto last = view.number("loss.last");
  constexpr std::uint64_t k_least = 2;
  constexpr double k_learnt = 0.7;  // of ln(n): the training loss knows more than the frequencies
  constexpr double k_below = 0.6;   // of 1 / n
  constexpr double k_near = 0.06;   // of ln(n): where untrained networks begin
  constexpr double k_most_classes = 64;
  if (accuracy == nullptr || accuracy->count < k_least || !first || !last) return;
  // Whole sequences that match are no answers among n.
  if (!core::icontains(accuracy->raw_name, "acc")) return;
  auto classes = view.number("task.classes");
  if (!classes) {
    const double near = std::round(std::exp(*first));
    const bool whole = near >= 3 && near <= k_most_classes &&
                       std::fabs(*first - std::log(near)) <= k_near * std::log(near);
    if (whole) classes = near;
  }
  if (!classes || *classes < 3 || *last > k_learnt * std::log(*classes)) return;
  const double unit = accuracy->max > 1 && accuracy->max <= 100 ? 100 : 1;
  const double best = accuracy->max / unit;
  const double now = accuracy->value[accuracy->size() - 1] / unit;
  const double guess = 1 / *classes;
  view.set_at(
      "eval.below_guess", best < guess && now < k_below * guess,
      fmt::format(
          "{} {} at best and {} at last among {} classes, where a blind guess is right in {}, "
          "while the training loss falls from {} to {}",
          accuracy->name, core::show_number(best, 3), core::show_number(now, 3),
          core::show_number(*classes), core::show_number(guess, 3), core::show_number(*first),
          core::show_number(*last)),
      ends_of(view, *accuracy));
}

/// The loss of a policy says nothing of how it does.
void derive_what_tells(FactView& view) {
  const bool policy = view.text("run.kind") == "rl" && view.series(record::Role::reward) != nullptr;
  view.set("loss.tells_progress", !policy,
           policy ? "the loss of a policy says nothing of how it does" : "");
}

facts::Deriver trend_deriver(const Judged& judged) {
  const std::string head = head_of(judged.role);
  const std::string role(name(judged.role));
  return {.name = "trend of " + role,
          .reads = {"series:" + role},
          .gives = {head + "better", head + "worse", head + "turned", head + "settled",
                    head + "gain_frac", head + "records"},
          .derive = [judged](FactView& view) { derive_trend(judged, view); }};
}

facts::Deriver guess_deriver(record::Role loss, record::Role accuracy, const std::string& fact) {
  return {.name = fact,
          .reads = {"series:" + std::string(name(loss)), "series:" + std::string(name(accuracy))},
          .gives = {fact},
          .derive = [loss, accuracy, fact](FactView& view) {
            compare_with_a_guess(loss, accuracy, fact, view);
          }};
}

}  // namespace

std::vector<facts::Deriver> trend_facts() {
  std::vector<facts::Deriver> all;
  all.reserve(k_judged.size() + 6);
  for (const Judged& judged : k_judged) all.push_back(trend_deriver(judged));
  all.push_back({.name = "what tells progress",
                 .reads = {"run.kind", "series:reward"},
                 .gives = {"loss.tells_progress"},
                 .derive = derive_what_tells});
  all.push_back({.name = "training against held-out data",
                 .reads = {"series:eval_loss", "loss.first", "loss.last", "eval_loss.first",
                           "eval_loss.last", "trend.eval_loss.better"},
                 .gives = {"eval.improved", "eval.no_better_than_start", "eval.far_above_train"},
                 .derive = compare_splits});
  all.push_back({.name = "movement of held-out losses",
                 .reads = {"series:eval_loss"},
                 .gives = {"eval.exactly_constant"},
                 .derive = look_for_movement});
  all.push_back({.name = "held-out accuracy against a blind guess",
                 .reads = {"series:eval_accuracy", "task.classes", "loss.first", "loss.last"},
                 .gives = {"eval.below_guess"},
                 .derive = look_below_a_guess});
  all.push_back(guess_deriver(record::Role::loss, record::Role::accuracy, "train.guesses"));
  all.push_back(
      guess_deriver(record::Role::eval_loss, record::Role::eval_accuracy, "eval.guesses"));
  return all;
}

}  // namespace aplomb::diagnosis

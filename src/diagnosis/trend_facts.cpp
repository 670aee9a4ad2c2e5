#include "diagnosis/trend_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/text.h"
#include "diagnosis/trend.h"

namespace aplomb::diagnosis {
namespace {

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

std::vector<record::Origin> ends_of(const record::Run& run, const record::Series& series) {
  if (series.empty()) return {};
  const record::Series& shown = run.shown_by(series);
  return {shown.origin(0), shown.origin(series.size() - 1)};
}

void tell(const record::Run& run, const record::Series& series, Better better, FactTable& facts) {
  const auto trend = trend_of(series.value, better);
  if (!trend) return;
  const std::string head = "trend." + std::string(name(series.role)) + ".";
  const std::vector<record::Origin> places = ends_of(run, series);
  const std::string words =
      fmt::format("{} {} -> {} over {} records, noise {} from record to record", series.name,
                  core::show_number(trend->start), core::show_number(trend->last), trend->records,
                  core::show_number(trend->noise, 2));
  facts.set({head + "better", trend->better, words, places});
  facts.set({head + "worse", trend->worse, words, places});
  facts.set({head + "turned", trend->turned,
             fmt::format("{} was {} at best and ends at {}", series.name,
                         core::show_number(trend->best), core::show_number(trend->last)),
             places});
  facts.set({head + "settled", trend->settled,
             fmt::format("{} came to {} in the first quarter of its records and stayed there",
                         series.name, core::show_number(trend->last)),
             places});
  facts.set({head + "gain_frac", trend->gain_frac, words, places});
  facts.set({head + "records", static_cast<double>(trend->records), words, {}});
}

std::optional<double> number_of(const FactTable& facts, std::string_view name) {
  const record::Fact* fact = facts.find(name);
  const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
  if (held == nullptr || !std::isfinite(*held)) return std::nullopt;
  return *held;
}

/// Held-out data against the loss that training began with and the one that it has now.
void compare_splits(const record::Run& run, FactTable& facts) {
  const record::Series* held_out = run.primary(record::Role::eval_loss);
  const auto first = number_of(facts, "loss.first");
  const auto last = number_of(facts, "loss.last");
  if (held_out == nullptr || held_out->count < 2 || !first || !last || *first <= 0) return;
  const std::vector<record::Origin> places = ends_of(run, *held_out);
  const auto began = number_of(facts, "eval_loss.first");
  if (began && held_out->max > held_out->min) {
    facts.set({"eval.improved", held_out->min < *began,
               fmt::format("held-out loss {} at first, {} at best", core::show_number(*began),
                           core::show_number(held_out->min)),
               places});
  }
  const bool gained = began && *began - held_out->min >= k_least_gain * std::fabs(*began);
  facts.set({"eval.no_better_than_start", held_out->min >= *first && !gained,
             fmt::format("held-out loss {} at best, training began with {}",
                         core::show_number(held_out->min), core::show_number(*first)),
             places});
  const record::Fact* better = facts.find("trend.eval_loss.better");
  const bool improves = better != nullptr && core::is_true(better->value);
  const auto now = number_of(facts, "eval_loss.last");
  if (!now) return;
  facts.set(
      {"eval.far_above_train",
       !improves && *last > 0 && *now > std::max(k_far * *last, k_tiny_loss),
       fmt::format("held-out loss {} against a training loss of {}, and no better than it was",
                   core::show_number(*now), core::show_number(*last)),
       places});
}

/// Held-out data do not change, so that their loss does as soon as a weight does. Printed digits
/// may hide it where there are few.
void look_for_movement(const record::Run& run, FactTable& facts) {
  const record::Series* held_out = run.primary(record::Role::eval_loss);
  constexpr std::uint64_t k_least = 3;
  constexpr double k_digits = 1e-3;  // of the value: what three digits show
  if (held_out == nullptr || held_out->count < k_least || held_out->nonfinite_count > 0) return;
  const double width = held_out->max - held_out->min;
  const bool constant = width == 0;
  if (!constant && width < k_digits * std::fabs(held_out->max)) return;  // too near to tell
  facts.set({"eval.exactly_constant", constant,
             fmt::format("held-out losses from {} to {} over {} evaluations",
                         core::show_number(held_out->min), core::show_number(held_out->max),
                         held_out->count),
             ends_of(run, *held_out)});
}

double median_of(const record::Series& series) {
  std::vector<double> values;
  for (std::size_t i = series.size() / 2; i < series.size(); ++i) {
    if (std::isfinite(series.value[i])) values.push_back(series.value[i]);
  }
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Who guesses among n classes alike has a loss of ln(n) and is right once in n times. Whoever has
/// learnt anything has a lower loss or a higher accuracy than the other one says.
void compare_with_a_guess(const record::Run& run, record::Role loss_role,
                          record::Role accuracy_role, const char* fact, FactTable& facts) {
  const record::Series* loss = run.primary(loss_role);
  const record::Series* accuracy = run.primary(accuracy_role);
  if (loss == nullptr || accuracy == nullptr) return;
  if (loss->size() < k_least_pairs || accuracy->size() < k_least_pairs) return;
  const double nats = median_of(*loss);
  double share = median_of(*accuracy);
  if (accuracy->max > 1 && accuracy->max <= 100) share /= 100;
  if (!(share > 0) || share > k_most_guess || !(nats > 0)) return;
  const double guess = std::log(1 / share);
  facts.set({fact, std::fabs(nats - guess) <= k_near_guess * guess,
             fmt::format("{} {} and {} {}: who guesses among {} classes has both", loss->name,
                         core::show_number(nats), accuracy->name, core::show_number(share, 3),
                         core::show_number(std::round(1 / share))),
             ends_of(run, *accuracy)});
}

}  // namespace

void add_trend_facts(const record::Run& run, FactTable& facts) {
  const record::Fact* kind = facts.find("run.kind");
  const std::string* word = kind == nullptr ? nullptr : core::as_text(kind->value);
  const bool policy =
      word != nullptr && *word == "rl" && run.primary(record::Role::reward) != nullptr;
  facts.set({"loss.tells_progress",
             !policy,
             policy ? "the loss of a policy says nothing of how it does" : "",
             {}});
  for (const Judged& each : k_judged) {
    const record::Series* series = run.primary(each.role);
    if (series != nullptr) tell(run, *series, each.better, facts);
  }
  compare_splits(run, facts);
  look_for_movement(run, facts);
  compare_with_a_guess(run, record::Role::loss, record::Role::accuracy, "train.guesses", facts);
  compare_with_a_guess(run, record::Role::eval_loss, record::Role::eval_accuracy, "eval.guesses",
                       facts);
}

}  // namespace aplomb::diagnosis

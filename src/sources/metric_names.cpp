#include "sources/metric_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/text.h"
#include "knowledge/framework.h"
#include "log_text/foreign_names.h"

namespace aplomb::sources {
namespace {

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// `train/box_loss` -> {train, box, loss}
std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= key.size(); ++i) {
    const bool between = i == key.size() || key[i] == '/' || key[i] == '_' || key[i] == '.' ||
                         key[i] == '-' || key[i] == ' ' || key[i] == ':';
    if (!between) continue;
    if (i > start) words.push_back(key.substr(start, i - start));
    start = i + 1;
  }
  return words;
}

/// What is left of a key's words once those that only say where and how it was taken are gone.
struct Reading {
  bool held_out = false;
  bool loss = false;
  bool knob = false;  ///< `loss_scale`, `aux_loss_coef`: a setting of a loss, no loss
  std::vector<std::string_view> rest;
};

Reading read_words(const std::vector<std::string_view>& words) {
  static constexpr std::array<std::string_view, 8> k_held_out = {
      "val", "valid", "validation", "eval", "test", "evaluation", "dev", "heldout"};
  // Frameworks add these to a metric's name: Lightning's _step/_epoch, averages, the phase.
  static constexpr std::array<std::string_view, 12> k_plain = {"train", "training", "trn",  "step",
                                                               "epoch", "avg",      "mean", "batch",
                                                               "total", "global",   "sum",  "lm"};
  static constexpr std::array<std::string_view, 14> k_knobs = {
      "scale", "scaler",   "scaling", "weight", "weights",   "coef",   "coeff",
      "type",  "function", "fn",      "mask",   "reduction", "factor", "smoothing"};
  Reading reading;
  for (const std::string_view word : words) {
    if (among(word, k_held_out)) {
      reading.held_out = true;
    } else if (word == "loss" || word == "losses") {
      reading.loss = true;
    } else if (!among(word, k_plain)) {
      reading.knob = reading.knob || among(word, k_knobs);
      reading.rest.push_back(word);
    }
  }
  return reading;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += '_';
    out += word;
  }
  return out;
}

std::optional<MetricName> by_words(std::string_view key) {
  const std::string folded = core::lower(key);
  const Reading reading = read_words(words_of(folded));
  const std::string rest = joined(reading.rest);
  MetricName name;
  if (reading.loss && !reading.knob) {
    name.series = reading.held_out ? "eval_loss" : "loss";
    if (!rest.empty()) name.series += "/" + rest;
  } else if (rest == "acc" || rest == "accuracy") {
    name.series = reading.held_out ? "eval_accuracy" : "accuracy";
  } else if (rest == "ppl" || rest == "perplexity") {
    name.series = reading.held_out ? "eval_perplexity" : "perplexity";
    if (reading.held_out) {
      name.role = record::Role::eval_metric;
      return name;
    }
  } else {
    return std::nullopt;
  }
  name.role = knowledge::series_role(name.series);
  return name;
}

/// `train/grad_norm` -> grad_norm, `lr_step` -> lr: what says that a metric is of training, or how
/// Lightning took it.
std::string_view without_phase(std::string_view key) {
  static constexpr std::array<std::string_view, 6> k_heads = {"train/", "train_", "training/",
                                                              "train.", "train-", "training_"};
  static constexpr std::array<std::string_view, 2> k_tails = {"_step", "_epoch"};
  for (const std::string_view head : k_heads) {
    if (key.size() > head.size() && core::iequals(key.substr(0, head.size()), head)) {
      key.remove_prefix(head.size());
      break;
    }
  }
  for (const std::string_view tail : k_tails) {
    if (key.size() > tail.size() && core::iequals(key.substr(key.size() - tail.size()), tail)) {
      key.remove_suffix(tail.size());
      break;
    }
  }
  return key;
}

std::optional<MetricName> by_tables(std::string_view key, std::string_view framework) {
  auto match = knowledge::find_series_alias(key, framework);
  if (!match) return std::nullopt;
  const record::Role role = knowledge::series_role(match->series);
  return MetricName{std::move(match->series), match->scale, role};
}

}  // namespace

MetricName name_metric(std::string_view key, std::string_view framework) {
  if (auto name = by_tables(key, framework)) return *std::move(name);
  const std::string_view plain = without_phase(key);
  if (plain.size() < key.size()) {
    if (auto name = by_tables(plain, framework)) return *std::move(name);
  }
  if (auto name = by_words(key)) return *std::move(name);
  const std::string english = log_text::english_name(key);
  if (english != key) return name_metric(english, framework);
  return {std::string(key), 1, record::Role::other};
}

int step_rank(std::string_view key) {
  const std::string folded = core::lower(core::trim(key));
  static constexpr std::array<std::string_view, 3> k_surest = {"global_step", "globalstep",
                                                               "global_steps"};
  const std::size_t slash = folded.rfind('/');
  const std::string_view last =
      std::string_view(folded).substr(slash == std::string::npos ? 0 : slash + 1);
  if (among(last, k_surest)) return 1;
  if (folded == "_step") return 3;
  static constexpr std::array<std::string_view, 8> k_usual = {
      "step",  "iter",          "iteration", "iterations",
      "steps", "current_steps", "iter_num",  "train_step"};
  if (among(last, k_usual) || knowledge::is_step_key(folded)) return 2;
  if (last == "epoch" || last == "epochs") return 4;
  const std::string english = log_text::english_name(folded);
  return english == folded ? 0 : step_rank(english);
}

bool is_bookkeeping(std::string_view key) {
  static constexpr std::array<std::string_view, 12> k_names = {
      "_timestamp", "_runtime",    "timestamp",  "created_at", "elapsed_time", "remaining_time",
      "wall_time",  "total_steps", "percentage", "_wandb",     "date",         "relative time"};
  return among(core::lower(core::trim(key)), k_names);
}

}  // namespace aplomb::sources

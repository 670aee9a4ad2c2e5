#include "task/metric_words.h"

#include <algorithm>
#include <array>

#include "knowledge/document.h"

namespace aplomb::task {
namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 12> k_held_out = {
    "val", "valid",   "validation", "eval",     "evaluation", "test",
    "dev", "heldout", "holdout",    "validate", "testing",    "held"};
constexpr std::array<std::string_view, 6> k_training = {"train", "training", "trn",
                                                        "tr",    "trainer",  "fit"};
constexpr std::array<std::string_view, 10> k_averages = {
    "avg", "average", "mean", "running", "epoch", "step", "batch", "smoothed", "ema", "total"};
constexpr std::array<std::string_view, 9> k_extremes = {
    "best", "min", "max", "lowest", "highest", "target", "floor", "baseline", "prev"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Part::count_)> k_parts = {
    "none",
    "preference_accuracy",
    "preference_margin",
    "logp_chosen",
    "logp_rejected",
    "reward_chosen",
    "discriminator",
    "generator",
    "explained_variance",
    "prediction_std",
    "target_std",
    "weight_size",
    "grad_part",
    "hits",
    "compute_time",
    "logit_max",
    "attention_logit",
    "action_value"};

Part part_named(std::string_view name) {
  const auto found = std::find(k_parts.begin(), k_parts.end(), name);
  return found == k_parts.end() ? Part::none : static_cast<Part>(found - k_parts.begin());
}

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct WordEntry {
  record::Role role = record::Role::other;
  Part part = Part::none;
  std::string formula;
  int order = 0;
  std::vector<Words> any;           ///< stand in the name
  std::vector<Words> whole;         ///< are the name
  std::vector<std::string> begins;  ///< first words of names of several
};

std::vector<WordEntry> load() {
  std::vector<WordEntry> entries;
  for (const knowledge::Node& node : knowledge::file("metrics.yaml").items()) {
    WordEntry entry;
    const std::string is = knowledge::text_of(node, "is");
    entry.role = record::role_of(is).value_or(record::Role::other);
    entry.part = part_named(is);
    entry.formula = knowledge::text_of(node, "formula");
    entry.order = static_cast<int>(entries.size());
    for (const std::string& phrase : knowledge::texts_of(node, "any"))
      entry.any.push_back(name_words(phrase));
    for (const std::string& phrase : knowledge::texts_of(node, "whole"))
      entry.whole.push_back(name_words(phrase));
    entry.begins = knowledge::texts_of(node, "begins");
    entries.push_back(std::move(entry));
  }
  return entries;
}

const std::vector<WordEntry>& entries() {
  static const std::vector<WordEntry> all = load();
  return all;
}

bool holds(const Words& words, const Words& phrase) {
  return !phrase.empty() &&
         std::search(words.begin(), words.end(), phrase.begin(), phrase.end()) != words.end();
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c) || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// `return20`, `reward100`: the window of an average is no part of the name.
void drop_window(std::string& word) {
  constexpr std::size_t k_letters = 3;
  std::size_t end = word.size();
  while (end > 0 && word[end - 1] >= '0' && word[end - 1] <= '9') --end;
  if (word.size() - end >= 2 && end >= k_letters) word.resize(end);
}

}  // namespace

std::string_view name(Part part) { return k_parts[static_cast<std::size_t>(part)]; }

std::vector<std::string> name_words(std::string_view name) {
  Words words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_plain(c)) {
      flush();
      continue;
    }
    if (is_upper(c) && i > 0 && is_plain(name[i - 1]) && !is_upper(name[i - 1])) flush();
    word.push_back(is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  flush();
  return words;
}

bool is_data_word(std::string_view lower_word) {
  return among(lower_word, k_held_out) || among(lower_word, k_training);
}

MetricWords metric_words(std::string_view name) {
  MetricWords said;
  Words kept;
  bool of_data = false;
  for (std::string& word : name_words(name)) {
    if (word == "out" && said.held_out) continue;  // `held-out`
    of_data = of_data || is_data_word(word);
    said.extreme = said.extreme || among(word, k_extremes);
    if (among(word, k_held_out)) {
      said.held_out = true;
    } else if (!among(word, k_training) && !among(word, k_averages)) {
      drop_window(word);
      kept.push_back(std::move(word));
    }
  }
  said.bare = kept.empty() && of_data;
  for (const WordEntry& entry : entries()) {
    const bool known = std::any_of(entry.any.begin(), entry.any.end(),
                                   [&](const Words& phrase) { return holds(kept, phrase); }) ||
                       (kept.size() > 1 && std::find(entry.begins.begin(), entry.begins.end(),
                                                     kept.front()) != entry.begins.end()) ||
                       std::find(entry.whole.begin(), entry.whole.end(), kept) != entry.whole.end();
    if (!known) continue;
    said.role = entry.role;
    said.part = entry.part;
    said.formula = entry.formula;
    said.order = entry.order;
    break;
  }
  // What stands between bars is a size; those of gradients are known by their words.
  const bool size = name.size() > 2 && name.starts_with('|') && name.ends_with('|');
  if (size && said.role == record::Role::other && said.part == Part::none)
    said.part = Part::weight_size;
  return said;
}

std::vector<std::string> metric_words_mistakes() {
  std::vector<std::string> mistakes;
  if (entries().empty()) mistakes.emplace_back("metrics.yaml holds nothing");
  for (const WordEntry& entry : entries()) {
    const std::string first = entry.any.empty() || entry.any[0].empty() ? "?" : entry.any[0][0];
    if (entry.any.empty() && entry.whole.empty())
      mistakes.push_back("an entry of metrics.yaml names no phrase");
    if (entry.role == record::Role::other && entry.part == Part::none)
      mistakes.push_back("no such role or part at '" + first + "'");
    if ((entry.role == record::Role::loss) == entry.formula.empty())
      mistakes.push_back("a formula belongs to a loss, and to each: '" + first + "'");
  }
  return mistakes;
}

}  // namespace aplomb::task

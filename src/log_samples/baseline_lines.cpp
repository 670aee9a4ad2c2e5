#include "log_samples/baseline_lines.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/letters.h"
#include "core/text.h"
#include "core/value.h"

namespace aplomb::log_samples {
namespace {

constexpr std::size_t k_most = 8;
constexpr std::size_t k_longest_line = 200;
constexpr std::array<std::string_view, 12> k_baselines = {
    "baseline",        "baselines",        "naive",
    "persistence",     "majority",         "mean predictor",
    "mean-predictor",  "predict the mean", "predicting the mean",
    "always the mean", "random policy",    "copy last"};
/// Between the measure and its number: which data, and words that join.
constexpr std::array<std::string_view, 22> k_between = {
    "on",  "of", "is",  "val",  "valid", "validation", "test", "train", "eval", "dev", "set",
    "the", "at", "for", "with", "in",    "held",       "out",  "score", "data", "a",   "are"};

bool is_name(char c) { return core::is_lower(c) || core::is_digit(c) || c == '_' || c == '@'; }

bool says_baseline(std::string_view text) {
  return std::any_of(k_baselines.begin(), k_baselines.end(), [&](std::string_view word) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) return false;
    const std::size_t end = at + word.size();
    return (at == 0 || !is_name(text[at - 1])) && (end >= text.size() || !is_name(text[end]));
  });
}

/// The last word before `end` that is no data and joins nothing.
std::string measure_before(std::string_view text, std::size_t end) {
  while (end > 0) {
    while (end > 0 && !is_name(text[end - 1])) --end;
    std::size_t at = end;
    while (at > 0 && is_name(text[at - 1])) --at;
    const std::string_view word = text.substr(at, end - at);
    const bool joins = std::find(k_between.begin(), k_between.end(), word) != k_between.end();
    const bool letters = std::any_of(word.begin(), word.end(), core::is_lower);
    if (!word.empty() && letters && !joins) return std::string(word);
    end = at;
  }
  return {};
}

struct Number {
  double value = 0;
  std::size_t begin = 0;
};

/// The first number that stands by itself: no `32` of `order-up-to-32`, no count of steps.
std::optional<Number> own_number(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool sign = text[at] == '-' && at + 1 < text.size() && core::is_digit(text[at + 1]);
    if (!core::is_digit(text[at]) && !sign) continue;
    const bool own = at == 0 || text[at - 1] == ' ' || text[at - 1] == '=' || text[at - 1] == ':';
    std::size_t end = at + 1;
    while (end < text.size() &&
           (core::is_digit(text[end]) || text[end] == '.' || text[end] == 'e' ||
            ((text[end] == '-' || text[end] == '+') && text[end - 1] == 'e')))
      ++end;
    const bool ends = end >= text.size() || !is_name(text[end]);
    // A measure has a fraction; a whole number is a seed, a step, a count.
    const std::string_view word = text.substr(at, end - at);
    const bool fraction = word.find('.') != std::string_view::npos;
    if (own && ends && fraction) {
      if (const auto value = core::parse_number(word)) return Number{*value, at};
    }
    at = end - 1;
  }
  return std::nullopt;
}

}  // namespace

void BaselineLines::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (found_.size() >= k_most || line.size() > k_longest_line) return;
  const std::string text = core::lower(line);
  if (!says_baseline(text)) return;
  const std::optional<Number> value = own_number(text);
  if (!value || !std::isfinite(value->value)) return;
  const std::string name = measure_before(text, value->begin);
  if (name.empty() || says_baseline(name)) return;
  found_.push_back(
      {std::string(core::trim(line).substr(0, 160)), name, value->value, number, offset});
}

void BaselineLines::finish(record::RunBuilder& build, record::SourceId source) const {
  for (const Baseline& each : found_) {
    record::Event event;
    event.kind = "baseline-printed";
    event.severity = core::Severity::note;
    event.text = each.text;
    event.caught["name_text"] = each.name;
    event.caught["value"] = each.value;
    event.origin = {source, each.number, each.offset};
    build.event(std::move(event));
  }
}

}  // namespace aplomb::log_samples

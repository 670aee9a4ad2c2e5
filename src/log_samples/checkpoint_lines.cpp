#include "log_samples/checkpoint_lines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/letters.h"
#include "core/text.h"
#include "core/value.h"

namespace aplomb::log_samples {
namespace {

constexpr std::size_t k_most_stems = 8;
constexpr std::size_t k_longest_line = 400;
constexpr std::array<std::string_view, 8> k_saves = {
    "saved ", "saving ", "wrote ", "writing ", "save ", "saved:", "saved to", "checkpoint ->"};
constexpr std::array<std::string_view, 8> k_loads = {
    "loaded ",     "loading ",  "resumed from", "resuming from",
    "resume from", "restored ", "restoring ",   "restarting from"};
/// Chosen by what they are and not by their age.
constexpr std::array<std::string_view, 8> k_chosen = {"best",    "averag", "ema",     "pretrain",
                                                      "teacher", "base",   "initial", "reference"};

struct Name {
  std::string stem;
  double number = 0;
};

bool is_path_char(char c) {
  return core::is_lower(c) || core::is_digit(c) || c == '_' || c == '-' || c == '/' || c == '.' ||
         c == '=';
}

/// The checkpoint's name behind a verb: a word with a path's or a counter's mark and a number of its own.
std::optional<Name> name_behind(std::string_view text, std::size_t from) {
  constexpr std::size_t k_reach = 160;
  const std::size_t reach = std::min(text.size(), from + k_reach);
  for (std::size_t at = from; at < reach;) {
    while (at < reach && !is_path_char(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_path_char(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    at = std::max(end, at + 1);
    const std::size_t last = word.find_last_of("0123456789");
    if (last == std::string_view::npos) continue;
    std::size_t first = last;
    while (first > 0 && core::is_digit(word[first - 1])) --first;
    const std::string_view stem = word.substr(0, first);
    const bool counted =
        !stem.empty() && (stem.back() == '_' || stem.back() == '-' || stem.back() == '=');
    const bool named = stem.find("step") != std::string_view::npos ||
                       stem.find("ckpt") != std::string_view::npos ||
                       stem.find("checkpoint") != std::string_view::npos ||
                       stem.find("epoch") != std::string_view::npos ||
                       stem.find("iter") != std::string_view::npos;
    if (!counted || !named) continue;
    if (const auto number = core::parse_number(word.substr(first, last - first + 1)))
      return Name{std::string(stem), *number};
  }
  return std::nullopt;
}

template <std::size_t N>
std::size_t behind_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words) {
    const std::size_t at = text.find(word);
    if (at != std::string_view::npos) return at + word.size();
  }
  return std::string_view::npos;
}

}  // namespace

void CheckpointLines::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (line.size() > k_longest_line || !text_.empty()) return;
  if (line.find_first_of("0123456789") == std::string_view::npos) return;
  const std::string text = core::lower(line);
  const std::size_t saves = behind_one_of(text, k_saves);
  const std::size_t loads = saves == std::string_view::npos ? behind_one_of(text, k_loads) : saves;
  if (loads == std::string_view::npos) return;
  const bool chosen = std::any_of(k_chosen.begin(), k_chosen.end(), [&](std::string_view word) {
    return text.find(word) != std::string::npos;
  });
  if (chosen) return;
  const std::optional<Name> name = name_behind(text, loads);
  if (!name) return;
  const auto known = std::find_if(saved_.begin(), saved_.end(),
                                  [&](const Saved& each) { return each.stem == name->stem; });
  if (saves != std::string_view::npos) {
    if (known != saved_.end()) {
      known->newest = std::max(known->newest, name->number);
    } else if (saved_.size() < k_most_stems) {
      saved_.push_back({name->stem, name->number});
    }
    return;
  }
  if (known == saved_.end() || name->number >= known->newest) return;
  text_ = std::string(core::trim(line).substr(0, 160));
  loaded_ = name->number;
  newest_ = known->newest;
  number_ = number;
  offset_ = offset;
}

void CheckpointLines::finish(record::RunBuilder& build, record::SourceId source) const {
  if (text_.empty()) return;
  record::Event event;
  event.kind = "older-checkpoint-loaded";
  event.severity = core::Severity::warning;
  event.text = text_;
  event.caught["loaded"] = loaded_;
  event.caught["newest"] = newest_;
  event.origin = {source, number_, offset_};
  build.event(std::move(event));
}

}  // namespace aplomb::log_samples

#include "log_text/stage_tags.h"

#include <algorithm>
#include <array>

#include "core/letters.h"
#include "core/text.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_longest = 24;
constexpr std::uint64_t k_least = 2;  // lines of a stage

/// How grave a line is, or which data it is of: not which stage.
constexpr std::array<std::string_view, 20> k_no_stage = {
    "info",  "warn",  "warning", "error", "debug",    "notice", "critical",
    "fatal", "trace", "note",    "train", "training", "val",    "valid",
    "test",  "eval",  "rank",    "main",  "log",      "step"};

bool is_tag_letter(char c) { return core::is_name_start(c) || c == '-' || c == ' '; }

/// `{"phase": "lora", "it": 10, ...}`: the stage of a record of its own keys.
std::string_view phase_of(std::string_view text) {
  constexpr std::size_t k_near = 40;
  for (const std::string_view key :
       {R"("phase": ")", R"("stage": ")", "'phase': '", "'stage': '"}) {
    const std::size_t at = text.substr(0, k_near).find(key);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + key.size());
    return rest.substr(0, rest.find(key.back()));
  }
  return {};
}

/// `pretrain it=30 loss=2.3`: a word in front of the step.
std::string_view word_before_step(std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos || end < 3 || end > k_longest) return {};
  std::string_view rest = core::trim(text.substr(end));
  const std::size_t name = std::min(rest.find_first_of(" =:#0123456789"), rest.size());
  static constexpr std::array<std::string_view, 8> k_steps = {
      "it", "iter", "iteration", "step", "epoch", "ep", "update", "batch"};
  if (std::find(k_steps.begin(), k_steps.end(), core::lower(rest.substr(0, name))) == k_steps.end())
    return {};
  rest.remove_prefix(name);
  const std::size_t digit = rest.find_first_not_of(" =:#");
  const bool number = digit != std::string_view::npos && rest[digit] >= '0' && rest[digit] <= '9';
  return number ? text.substr(0, end) : std::string_view();
}

/// `sft   60  loss 1.0045`: a word in front of the bare number of the step, and more behind it.
std::string_view word_before_number(std::string_view text) {
  static constexpr std::array<std::string_view, 22> k_counted = {
      "epoch", "ep",   "iter",    "it",   "iteration", "update", "batch",  "loss",
      "round", "fold", "episode", "seed", "layer",     "class",  "sample", "worker",
      "gpu",   "node", "acc",     "best", "lr",        "after"};
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos || end < 3 || end > k_longest / 2) return {};
  const std::string_view word = text.substr(0, end);
  if (std::find(k_counted.begin(), k_counted.end(), core::lower(word)) != k_counted.end())
    return {};
  const std::string_view rest = core::trim(text.substr(end));
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view behind = core::trim(rest.substr(digits));
  const bool goes_on = digits > 0 && digits < rest.size() && rest[digits] == ' ' &&
                       !behind.empty() && is_tag_letter(behind[0]);
  return goes_on ? word : std::string_view();
}

/// Behind `[INFO] ` and the like.
std::string_view behind_level(std::string_view text) {
  if (text.empty() || text[0] != '[') return text;
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos || end > k_longest) return text;
  const std::string name = core::lower(core::trim(text.substr(1, end - 1)));
  const bool level = std::find(k_no_stage.begin(), k_no_stage.end(), name) != k_no_stage.end();
  return level ? core::trim(text.substr(end + 1)) : text;
}

/// Which trainer of a library prints the record `{'loss': ..., 'rewards/chosen': ...}`: supervised, of
/// preferences or of rewards. One log may hold one behind the other.
std::string trainer_of(std::string_view text) {
  if (text.size() < 10 || text[0] != '{' || text.find("'loss':") == std::string_view::npos)
    return {};
  if (text.find("'rewards/chosen'") != std::string_view::npos) return "preferences";
  if (text.find("'reward'") != std::string_view::npos) return "rewards";
  return text.find("'epoch'") != std::string_view::npos ? "supervised" : std::string();
}

/// The tag; empty where the line begins with none, or with a number, a date, a rank.
std::string tag_of(std::string_view text) {
  text = behind_level(core::trim(text));
  std::string_view plain_tag = phase_of(text);
  if (plain_tag.empty()) plain_tag = word_before_step(text);
  if (plain_tag.empty()) plain_tag = word_before_number(text);
  if (!plain_tag.empty() && plain_tag.size() <= k_longest &&
      std::all_of(plain_tag.begin(), plain_tag.end(), is_tag_letter)) {
    std::string name = core::lower(plain_tag);
    const bool none = std::find(k_no_stage.begin(), k_no_stage.end(), name) != k_no_stage.end();
    return none ? std::string() : name;
  }
  const bool bracket = !text.empty() && text[0] == '[';
  const std::size_t end = text.find(bracket ? ']' : '|');
  if (end == std::string_view::npos || end < 2 || end > k_longest) return {};
  const std::string_view tag = text.substr(bracket ? 1 : 0, end - (bracket ? 1 : 0));
  if (!std::all_of(tag.begin(), tag.end(), is_tag_letter)) return {};
  std::string name = core::lower(core::trim(tag));
  const bool plain = std::find(k_no_stage.begin(), k_no_stage.end(), name) != k_no_stage.end();
  return plain ? std::string() : name;
}

/// A record: numbers stand behind the tag.
bool has_number(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void StageTags::line(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  if (text.empty() || !has_number(text)) return;
  std::string name = trainer_of(core::trim(text));
  if (name.empty()) name = tag_of(text);
  if (name.empty()) return;
  const auto known =
      std::find_if(tags_.begin(), tags_.end(), [&](const Tag& tag) { return tag.name == name; });
  if (known != tags_.end()) {
    known->last_number = number;
    ++known->lines;
    return;
  }
  crowded_ = crowded_ || tags_.size() >= k_most_tags;
  if (crowded_) return;
  tags_.push_back(
      {std::move(name), std::string(core::trim(text).substr(0, 160)), number, offset, number, 1});
}

void StageTags::finish(record::RunBuilder& build, record::SourceId source) const {
  if (crowded_) return;
  for (std::size_t i = 1; i < tags_.size(); ++i) {
    const Tag& before = tags_[i - 1];
    const Tag& tag = tags_[i];
    if (before.last_number >= tag.first_number || before.lines < k_least || tag.lines < k_least)
      continue;
    record::Event event;
    event.kind = "stage-begins";
    event.severity = core::Severity::note;
    event.text = tag.text;
    event.caught["name_text"] = tag.name;
    event.origin = {source, tag.first_number, tag.first_offset};
    build.event(std::move(event));
  }
}

}  // namespace aplomb::log_text

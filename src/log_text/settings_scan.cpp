#include "log_text/settings_scan.h"

#include <algorithm>

#include "config_text/command_line.h"
#include "config_text/nested_text.h"
#include "config_text/setting_lines.h"
#include "core/text.h"
#include "prose/statements.h"

namespace aplomb::log_text {
namespace {

/// A line that ends in an open bracket after a word or sign starts a printed object: `config {`,
/// `args = dict(`.
bool ends_open(std::string_view line) {
  const std::string_view tail = core::trim(line);
  return !tail.empty() && (tail.back() == '{' || tail.back() == '(') && tail.size() < 400;
}

bool goes_on(std::string_view line) {
  const std::string_view tail = core::trim(line);
  return !tail.empty() && tail.back() == '\\';
}

/// Sentences that tell the user what to set; what stands in them is not what was set.
bool gives_advice(std::string_view line) {
  constexpr std::string_view k_advice[] = {
      "try setting", "you can set",   "please set", "consider setting",
      "should set",  "should be set", "by setting", "set `",
      "recommend",   "e.g.",          "instead of", "to avoid fragmentation"};
  return std::any_of(std::begin(k_advice), std::end(k_advice),
                     [line](std::string_view advice) { return core::icontains(line, advice); });
}

/// A line of metrics that comes here holds no settings, though its keys (`lr`) may be ones of both
/// kinds.
bool holds_metrics(const config_text::LineForm& form) {
  return std::any_of(
      form.pairs.begin(), form.pairs.end(), [](const config_text::ConfigEntry& entry) {
        const std::string_view key = entry.path;
        const bool metric = key.ends_with("loss") || key.ends_with("grad_norm") || key == "epoch" ||
                            key == "step" || key == "iter" || key == "iteration";
        return metric && core::parse_number(entry.text).has_value();
      });
}

}  // namespace

void SettingScanner::line(std::string_view line, std::uint64_t number, std::uint64_t offset,
                          record::RunBuilder& build, record::SourceId source) {
  if (!sink_) sink_.emplace(build, source, build.source(source).framework);
  line = line.substr(0, k_longest_line);
  if (open_ != Open::nothing) {
    keep_on(line);
    return;
  }
  take(line, number, offset);
}

void SettingScanner::take(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  // Python shows the line that warned, cut behind its bracket: nothing closes it.
  const bool shown =
      (below_warning_ && line.starts_with("  ")) || core::trim(line) == "warnings.warn(";
  below_warning_ = line.find("Warning: ") != std::string_view::npos &&
                   line.find(".py:") != std::string_view::npos;
  if (shown) return;
  const std::size_t before = sink_->made();
  const bool hit = literals(line, number, offset);
  if (open_ != Open::nothing) return;
  if (idle_bytes_ < k_idle_bytes || hit) {
    if (config_text::looks_like_command(line)) {
      open(Open::command, line, number, offset);
      if (!goes_on(line)) flush();
    } else if (line.find_first_of("=:|.") != std::string_view::npos) {
      if (ends_open(line)) {
        open(Open::brackets, line, number, offset);
      } else {
        pairs(line, number, offset);
      }
    }
  }
  idle_bytes_ = sink_->made() > before || hit ? 0 : idle_bytes_ + line.size() + 1;
}

bool SettingScanner::literals(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  const prose::LiteralHits hits = prose::find_literals(line);
  const bool declared = kind_ == TextKind::declared;
  for (const std::uint32_t index : hits.frameworks) {
    // The framework that most pieces so far speak for; a later one needs more of them.
    framework_votes_.resize(knowledge::frameworks().size());
    if (knowledge::frameworks()[index].slug == "environment") continue;
    if (++framework_votes_[index] > framework_weight_) {
      framework_weight_ = framework_votes_[index];
      sink_->framework(knowledge::frameworks()[index].slug);
    }
  }
  bool held = prose::apply_statements(hits.statements, line, declared, number, offset, *sink_);
  if (hits.environment || declared)
    held = environment_.line(line, declared, number, offset, *sink_) || held;
  if (hits.call) open(Open::brackets, line, number, offset);
  if (hits.call && pending_depth_ <= 0) flush();
  return held || hits.call;
}

void SettingScanner::open(Open what, std::string_view line, std::uint64_t number,
                          std::uint64_t offset) {
  open_ = what;
  pending_ = std::string(line);
  pending_lines_ = 1;
  pending_number_ = number;
  pending_offset_ = offset;
  pending_depth_ = what == Open::brackets ? config_text::open_brackets(line) : 0;
}

void SettingScanner::keep_on(std::string_view line) {
  // The next line may not be a part of it: a command that ends in a stray `\` before an empty line,
  // a bracket that a message opened and never closes.
  pending_ += '\n';
  pending_ += line;
  ++pending_lines_;
  if (open_ == Open::brackets) {
    pending_depth_ += config_text::open_brackets(line);
    if (pending_depth_ <= 0) flush();
  } else if (!goes_on(line)) {
    flush();
  }
  if (open_ != Open::nothing &&
      (pending_.size() > k_pending_bytes || pending_lines_ > k_pending_lines))
    flush();
}

void SettingScanner::flush() {
  const Open what = open_;
  open_ = Open::nothing;
  const auto entries = what == Open::command
                           ? config_text::parse_command(pending_, pending_number_, pending_offset_)
                           : config_text::parse_nested(pending_, pending_number_, pending_offset_);
  std::size_t made = 0;
  for (const config_text::ConfigEntry& entry : entries) made += sink_->put(entry);
  if (made > 0) idle_bytes_ = 0;
  pending_.clear();
}

void SettingScanner::pairs(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  const config_text::LineForm form = config_text::read_line(line, number, offset);
  if (kind_ == TextKind::log && (gives_advice(line) || holds_metrics(form))) return;
  // Keys of several words first: `batch size per device = 4` sets no device.
  for (const config_text::ConfigEntry& entry : form.alternatives) {
    if (entry.path.find(' ') != std::string::npos && put(entry)) return;
  }
  bool made = false;
  for (const config_text::ConfigEntry& entry : form.pairs) made = put(entry) || made;
  for (const config_text::ConfigEntry& entry : form.alternatives) made = made || put(entry);
}

bool SettingScanner::put(const config_text::ConfigEntry& entry) {
  const bool strong =
      kind_ == TextKind::declared || entry.path.find_first_of("_.- ") != std::string::npos ||
      (entry.line >= last_made_line_ && entry.line - last_made_line_ <= k_block_lines);
  if (!strong) {
    if (weak_.size() >= k_block_lines) weak_.erase(weak_.begin());
    weak_.push_back(entry);
    return false;
  }
  if (sink_->put(entry) == 0) return false;
  last_made_line_ = entry.line;
  for (const config_text::ConfigEntry& before : weak_) {
    if (entry.line - before.line <= k_block_lines) sink_->put(before);
  }
  weak_.clear();
  return true;
}

void SettingScanner::finish(record::RunBuilder& build, record::SourceId source) {
  if (!sink_) return;
  if (open_ != Open::nothing) flush();
  if (build.source(source).framework.empty()) build.source(source).framework = sink_->framework();
}

}  // namespace aplomb::log_text

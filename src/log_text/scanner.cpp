#include "log_text/scanner.h"

#include <string>

#include "core/text.h"
#include "knowledge/framework.h"
#include "log_text/prefix.h"

namespace aplomb::log_text {
namespace {

constexpr std::uint64_t k_account_lines = 1000;  // a shorter text may be what a person wrote
constexpr int k_most_parts = 5;                  // bars that stand in one line

constexpr std::string_view k_made_deterministic = "aplomb: deterministic: seed ";

}  // namespace

LogScanner::LogScanner(std::string_view head, record::RunBuilder& build, record::SourceId source,
                       Reading reading)
    : build_(build),
      source_(source),
      style_(prefix_style(head)),
      keys_(knowledge::detect_framework(head)),
      writer_(keys_, build, source),
      queue_(keys_, code_, writer_),
      pairs_(keys_, code_, queue_),
      tables_(keys_),
      names_(head) {
  if (reading == Reading::all) words_.emplace(build, source);
  if (build.source(source).framework.empty())
    build.source(source).framework = std::string(knowledge::detect_framework(head));
}

/// `aplomb: deterministic: seed 42 for Python, ...`: what `aplomb run --deterministic` switched on.
void LogScanner::made_deterministic(const Line& line) {
  const auto set = [&](const char* name, core::Value value) {
    build_.setting({name,
                    std::move(value),
                    "aplomb run --deterministic",
                    "",
                    {source_, line.number, line.offset}});
  };
  const std::string_view said = line.text.substr(k_made_deterministic.size());
  if (const auto seed = core::parse_number_prefix(said); seed.size > 0)
    set("seed.value", seed.value);
  set("seed.deterministic", true);
  set("seed.benchmark", false);
}

/// A line of a drawn table, `│ mse/holdout │ 0.34 │` or its head with heavy bars, with plain bars in
/// the places of the drawn ones.
std::string_view LogScanner::barred(std::string_view text) {
  for (const std::string_view drawn : {std::string_view("\u2502"), std::string_view("\u2503")}) {
    if (!core::trim(text).starts_with(drawn)) continue;
    barred_.assign(text);
    for (std::size_t at = 0; (at = barred_.find(drawn, at)) != std::string::npos;)
      barred_.replace(at, drawn.size(), "|  ");
    return barred_;
  }
  return text;
}

void LogScanner::line(const Line& line) {
  // What `aplomb run` itself says among the program's lines is no evidence of the program; what it
  // set is a setting of the run.
  if (line.text.starts_with("aplomb: no guard: ")) return;
  if (line.text.starts_with(k_made_deterministic)) return made_deterministic(line);
  if (words_) words_->heard(line);
  const Prefix prefix = read_prefix(line.text, style_);
  LogLine part{names_.english(barred(line.text.substr(prefix.size))),
               {prefix.rank, line.number, line.offset}};
  if (prefix.rank >= 0) ranks_.line(part.text, prefix.rank, line.number, line.offset);
  if (prefix.rank < 0) tags_.line(part.text, line.number, line.offset);
  if (prefix.rank < 0) ranks_.worded(part.text, line.number, line.offset);
  if (pairs_.known(part)) return;
  for (int i = 0; i < k_most_parts && !core::trim(part.text).empty(); ++i) {
    if (i == 0 && words_) words_->message(part);
    const LineResult result = stages(part, i == 0);
    if (result.words && words_) words_->told(part);
    part.text = result.rest;
  }
}

/// `whole`: a line, not what follows a bar.
LineResult LogScanner::stages(const LogLine& line, bool whole) {
  if (whole && known_dull(line)) return {.taken = true, .words = true};
  LineResult result = trace(line);
  if (!result.taken) result = bar(line);
  if (!result.taken && tables_.open()) result = table_row(line, nullptr);
  if (!result.taken && whole) {
    titled_ = tables_.title(line.text);
    result.taken = tables_.drawn_head(line.text);
  }
  if (!result.taken) result = pairs_.line(line);
  if (!result.taken) result = table_head(line, whole);
  return result;
}

/// Whether such a line has been looked at before in vain, and nothing is open that it may belong
/// to.
bool LogScanner::known_dull(const LogLine& line) const {
  return line.where.number > k_account_lines && !tables_.open() && !traces_.open() &&
         dull_.knows(line.text);
}

LineResult LogScanner::trace(const LogLine& line) {
  const bool part = traces_.line(line.text, line.where.rank, line.where.number, line.where.offset,
                                 queue_.records());
  return {.taken = part, .words = part};
}

/// A line with a progress bar: its place and rate, the metrics that hang on it, and what follows it
/// in the same line.
LineResult LogScanner::bar(const LogLine& line) {
  const std::optional<Bar> found = find_bar(line.text);
  if (!found) return {};
  if (tables_.open()) {
    const LineResult row = table_row({found->before, line.where}, &*found);
    if (row.taken) return row;
  }
  queue_.bar(*found, line.where);
  return {.taken = true, .rest = found->after};
}

/// A row of the open table; YOLO's carry the bar of their epoch.
LineResult LogScanner::table_row(const LogLine& line, const Bar* bar) {
  std::string_view text = line.text;
  if (bar != nullptr && text.ends_with(':')) text.remove_suffix(1);
  if (!tables_.row(text, row_)) return {};
  if (bar != nullptr) {
    row_.place.inner = bar->count;
    row_.place.inner_total = bar->total;
  }
  queue_.row(row_, line.where);
  return {.taken = true};
}

LineResult LogScanner::table_head(const LogLine& line, bool whole) {
  const bool head = tables_.head(line.text);
  if (!head && !titled_ && whole) dull_.note(line.text);
  return {.taken = true, .words = true};
}

void LogScanner::left_out(std::uint64_t records) {
  queue_.flush();
  writer_.left_out(records);
}

void LogScanner::finish() {
  queue_.flush();
  writer_.finish();
  traces_.finish(build_, source_, queue_.records());
  if (words_) {
    ranks_.finish(build_, source_);
    tags_.finish(build_, source_);
  }
  if (words_) words_->finish();
}

}  // namespace aplomb::log_text

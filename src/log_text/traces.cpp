#include "log_text/traces.h"

#include <algorithm>

#include "core/text.h"

namespace aplomb::log_text {
namespace {

constexpr std::string_view k_head = "Traceback (most recent call last)";
constexpr std::size_t k_most_open = 256;
constexpr std::size_t k_text_width = 400;
constexpr std::size_t k_code_width = 90;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/// The dotted name at the head of `RuntimeError: ...`; empty where the line is none.
std::string_view exception_name(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_name(line[end])) ++end;
  if (end < 3 || (line[0] >= '0' && line[0] <= '9')) return {};
  if (end < line.size() && line[end] != ':') return {};
  return line.substr(0, end);
}

/// `  File "train.py", line 12, in main` into the two parts.
void read_frame(std::string_view line, std::string& file, std::string& number) {
  const std::size_t open = line.find('"');
  const std::size_t close = line.find('"', open + 1);
  if (open == std::string_view::npos || close == std::string_view::npos) return;
  file = core::sanitize(line.substr(open + 1, close - open - 1));
  const std::size_t at = line.find("line ", close);
  if (at == std::string_view::npos) return;
  std::size_t end = at + 5;
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  number = std::string(line.substr(at + 5, end - at - 5));
}

/// Code of installed packages and of Python itself.
bool is_library(std::string_view file) {
  for (const std::string_view part :
       {"site-packages/", "dist-packages/", "/lib/python", "<frozen", "<string>", "/bin/"})
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

std::string_view name_of(std::string_view file) {
  const std::size_t slash = file.find_last_of("/\\");
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

}  // namespace

bool TraceWatch::line(std::string_view line, int rank, std::uint64_t number, std::uint64_t offset,
                      std::uint64_t records) {
  if (line.find(k_head) != std::string_view::npos) {
    std::erase_if(open_, [rank](const Open& one) { return one.rank == rank; });
    if (open_.size() < k_most_open) open_.push_back({rank, number, offset, {}, {}, {}, false});
    return true;
  }
  const auto open = std::find_if(open_.begin(), open_.end(),
                                 [rank](const Open& one) { return one.rank == rank; });
  if (open == open_.end()) return false;
  if (number - open->number > k_most_lines) {
    open_.erase(open);
    return false;
  }
  const std::string_view text = core::trim(line);
  if (text.empty()) return true;
  if (text.starts_with("File \"")) {
    read_frame(text, open->file, open->file_line);
    open->own_code = !is_library(open->file);
    if (open->own_code) open->own = std::string(name_of(open->file)) + ":" + open->file_line;
    return true;
  }
  const bool indented = line[0] == ' ' || line[0] == '\t';
  if (indented) {
    if (open->own_code && text.find_first_not_of("^~ ") != std::string_view::npos)
      open->own += ": " + core::sanitize(core::shorten(text, k_code_width));
    open->own_code = false;
    return true;
  }
  if (exception_name(text).empty()) {
    const bool source = !open->file.empty();  // a pasted traceback may have lost its indentation
    if (!source) open_.erase(open);
    return source;
  }
  close(*open, text, number, offset, records);
  open_.erase(open);
  return true;
}

void TraceWatch::close(Open& open, std::string_view last, std::uint64_t number,
                       std::uint64_t offset, std::uint64_t records) {
  const std::string text = core::sanitize(core::shorten(last, k_text_width));
  for (Kept& known : kept_) {
    if (known.event.text != text) continue;
    known.times += 1;
    known.records = records;
    return;
  }
  if (kept_.size() >= k_most_kept) return;
  record::Event event;
  event.kind = "traceback";
  event.rank = open.rank;
  event.text = text;
  event.caught["exception"] = std::string(exception_name(last));
  if (!open.file.empty()) event.caught["file"] = open.file;
  if (!open.file_line.empty())
    event.caught["line"] = core::parse_number(open.file_line).value_or(0);
  if (!open.own.empty()) event.caught["own_text"] = open.own;
  event.origin.line = number;
  event.origin.offset = offset;
  kept_.push_back({std::move(event), records, 1});
}

void TraceWatch::finish(record::RunBuilder& build, record::SourceId source, std::uint64_t records) {
  // As few as three further records show that the run lived on.
  constexpr std::uint64_t k_lived_on = 3;
  for (Kept& kept : kept_) {
    kept.event.origin.source = source;
    const bool by_hand = kept.event.text.starts_with("KeyboardInterrupt");
    kept.event.severity = by_hand                                ? core::Severity::note
                          : records >= kept.records + k_lived_on ? core::Severity::warning
                                                                 : core::Severity::failed;
    if (kept.times > 1) kept.event.caught["times"] = kept.times;
    build.event(std::move(kept.event));
  }
  kept_.clear();
  open_.clear();
}

}  // namespace aplomb::log_text

#include "train/text/data_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.h"
#include "tensors/mapped_file.h"

namespace aplomb::train::text {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Walks over JSON by its quotes and brackets, counting lines.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  std::size_t offset() const { return at_; }
  std::uint64_t line() const { return line_; }

  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skip_blanks() {
    while (!at_end() && is_blank(peek())) step();
  }
  bool take(char c) {
    skip_blanks();
    if (at_end() || peek() != c) return false;
    step();
    return true;
  }
  /// Past a string that begins here; false where the text ends first.
  bool skip_string() {
    step();
    while (!at_end() && peek() != '"') {
      if (peek() == '\\') step();
      if (!at_end()) step();
    }
    if (at_end()) return false;
    step();
    return true;
  }
  /// Past one value: to the comma or bracket that ends it. False where the text ends first.
  bool skip_value() {
    std::size_t depth = 0;
    while (!at_end()) {
      const char c = peek();
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      if (depth == 0 && (c == ',' || c == ']' || c == '}')) return true;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      step();
    }
    return false;
  }
  std::string_view from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

/// The elements of the array that begins here.
core::Result<std::vector<DataRow>> array_rows(JsonWalk& walk, std::string_view name) {
  std::vector<DataRow> rows;
  const auto torn = [&] {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[data] {}: the array of samples does not end (line {}, byte {}, {} "
                    "samples read); was the file cut off while it was written or copied?",
                    name, walk.line(), walk.offset(), rows.size()));
  };
  walk.step();
  walk.skip_blanks();
  while (!walk.at_end() && walk.peek() != ']') {
    const std::size_t begin = walk.offset();
    const std::uint64_t line = walk.line();
    if (!walk.skip_value()) return torn();
    rows.push_back({.text = core::trim(walk.from(begin)), .line = line});
    if (!walk.take(',')) break;
    walk.skip_blanks();
  }
  if (!walk.take(']')) return torn();
  return rows;
}

std::vector<DataRow> line_rows(std::string_view text) {
  std::vector<DataRow> rows;
  std::uint64_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = core::trim(text.substr(0, end));
    ++line;
    if (!row.empty()) rows.push_back({.text = row, .line = line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

constexpr std::array<std::string_view, 5> k_list_names = {"\"data\"", "\"train\"", "\"examples\"",
                                                          "\"instances\"", "\"rows\""};

/// The rows in a member of one object; no rows where it has no such member.
core::Result<std::vector<DataRow>> member_rows(std::string_view text, std::string_view name) {
  JsonWalk walk(text);
  walk.take('{');
  walk.skip_blanks();
  while (!walk.at_end() && walk.peek() == '"') {
    const std::size_t begin = walk.offset();
    if (!walk.skip_string()) break;
    const std::string_view key = walk.from(begin);
    if (!walk.take(':')) break;
    walk.skip_blanks();
    const bool wanted =
        std::find(k_list_names.begin(), k_list_names.end(), key) != k_list_names.end();
    if (wanted && !walk.at_end() && walk.peek() == '[') return array_rows(walk, name);
    if (!walk.skip_value() || !walk.take(',')) break;
    walk.skip_blanks();
  }
  return std::vector<DataRow>();
}

/// True where the object that `text` begins with is followed by nothing or begins on one line and
/// ends on it: JSON Lines.
bool is_json_lines(std::string_view text) {
  JsonWalk walk(text);
  walk.step();
  std::size_t depth = 1;
  while (!walk.at_end() && depth > 0 && walk.line() == 1) {
    const char c = walk.peek();
    if (c == '"') {
      if (!walk.skip_string()) return true;  // a broken line: told as such
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    walk.step();
  }
  return depth == 0;
}

/// What the first bytes say about files that are no JSON; nothing for those that may be.
std::string other_format(std::string_view text) {
  constexpr std::string_view k_as_json =
      "; write it as JSON Lines (in Python: datasets.load_dataset(...).to_json(\"train.jsonl\"))";
  const auto says = [&](std::string_view what) { return fmt::format("is {}{}", what, k_as_json); };
  if (text.starts_with("\x1F\x8B")) return "is compressed with gzip; unpack it first (gunzip)";
  if (text.starts_with("\x28\xB5\x2F\xFD"))
    return "is compressed with zstd; unpack it first (unzstd)";
  if (text.starts_with("PK\x03\x04")) return "is a zip archive; unpack it first";
  if (text.starts_with("PAR1")) return says("a Parquet file");
  if (text.starts_with("ARROW1")) return says("an Arrow file");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return "is in UTF-16; write it in UTF-8 (iconv -f UTF-16 -t UTF-8)";
  if (text.starts_with("version https://git-lfs"))
    return "is a git-lfs pointer, not the data; fetch it (git lfs pull)";
  return {};
}

}  // namespace

core::Result<std::vector<DataRow>> cut_rows(std::string_view text, std::string_view name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte-order mark
  const std::string other = other_format(text);
  if (!other.empty())
    return core::fail(core::ErrorCode::unsupported, fmt::format("[data] {} {}", name, other));
  JsonWalk walk(text);
  walk.skip_blanks();
  if (walk.at_end())
    return core::fail(core::ErrorCode::bad_format, fmt::format("[data] {} is empty", name));
  if (walk.peek() == '[') return array_rows(walk, name);
  if (walk.peek() != '{')
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[data] {} is neither JSON nor JSON Lines: it begins with \"{}\"; rows "
                    "must be JSON objects",
                    name, core::sanitize(core::shorten(text.substr(walk.offset(), 200), 40))));
  const std::string_view object = text.substr(walk.offset());
  core::Result<std::vector<DataRow>> nested = member_rows(object, name);
  if (nested && !nested->empty() && !is_json_lines(object)) return nested;
  std::vector<DataRow> lines = line_rows(text);
  if (lines.size() > 1 && is_json_lines(object)) return lines;
  if (!nested || !nested->empty()) return nested;
  if (lines.size() == 1) return lines;
  return core::fail(
      core::ErrorCode::bad_format,
      fmt::format("[data] {} is one JSON object without a list of samples (data, train, "
                  "examples, instances or rows); write an array of objects, or one object a "
                  "line",
                  name));
}

core::Result<DataRows> open_data_rows(const std::filesystem::path& path) {
  auto mapped = tensors::MappedFile::open(path.string());
  if (!mapped)
    return core::fail(
        mapped.error().code,
        fmt::format("[data] {}; check the path of the data files", mapped.error().text));
  core::Result<std::vector<DataRow>> rows = cut_rows((*mapped)->text(), path.string());
  if (!rows) return tl::unexpected<core::Error>(rows.error());
  return DataRows{.file = std::move(*mapped), .rows = std::move(*rows)};
}

}  // namespace aplomb::train::text

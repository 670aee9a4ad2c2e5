#include "config_text/setting_lines.h"

#include <algorithm>

#include "config_text/nested_text.h"
#include "core/text.h"

namespace aplomb::config_text {
namespace {

constexpr std::size_t k_most_key_words = 6;

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == '%';
}

/// The value without a comment, a trailing comma, a markdown or prose tail.
std::string_view tidy(std::string_view value) {
  value = core::trim(value);
  if (const std::size_t comment = value.find(" #"); comment != std::string_view::npos)
    value = core::trim(value.substr(0, comment));
  while (!value.empty() && (value.back() == ',' || value.back() == ';' || value.back() == '|')) {
    value = core::trim(value.substr(0, value.size() - 1));
  }
  return value;
}

class LineReader {
 public:
  LineReader(std::string_view line, std::uint64_t number, std::uint64_t offset)
      : line_(line), number_(number), offset_(offset) {}

  LineForm read() {
    if (dotted() || table_row()) return std::move(form_);
    form_.pairs = parse_nested(line_, number_, offset_);
    separated();
    return std::move(form_);
  }

 private:
  /// `  lr ................................ 0.0001`
  bool dotted() {
    const std::size_t dots = line_.find(" ....");
    if (dots == std::string_view::npos) return false;
    const std::size_t end = line_.find_first_not_of('.', dots + 1);
    if (end == std::string_view::npos || line_[end] != ' ') return false;
    add_key(line_.substr(0, dots), line_.substr(end));
    return true;
  }

  /// `| key | value |` with exactly two cells that hold something
  bool table_row() {
    const std::string_view row = core::trim(line_);
    const bool framed = row.size() > 4 && (row.front() == '|' || row.starts_with("\xE2\x94\x82"));
    if (!framed) return false;
    const std::string_view bar = row.front() == '|' ? "|" : "\xE2\x94\x82";
    std::vector<std::string_view> cells;
    for (std::size_t at = bar.size(); at < row.size();) {
      const std::size_t end = std::min(row.find(bar, at), row.size());
      if (const std::string_view cell = core::trim(row.substr(at, end - at)); !cell.empty())
        cells.push_back(cell);
      at = end + bar.size();
    }
    if (cells.size() == 2) add_key(cells[0], cells[1]);
    return true;
  }

  /// The first separator with a key of words before it: `INFO - Gradient Accumulation steps = 4`.
  void separated() {
    for (std::size_t at = line_.find_first_of("=:"); at != std::string_view::npos;
         at = line_.find_first_of("=:", at + 1)) {
      const char next = at + 1 < line_.size() ? line_[at + 1] : ' ';
      const bool sign =
          line_[at] == '=' ? next != '=' : next == ' ' || next == '\t' || at + 1 == line_.size();
      if (!sign) continue;
      const std::string_view left = core::trim(line_.substr(0, at));
      if (left.find_first_of(" )`*") != std::string_view::npos) add_key(left, line_.substr(at + 1));
      if (form_.alternatives.size() >= 4 * k_most_key_words) return;
    }
  }

  /// Adds the key's last words, longest first: what stands before them may be a logger's prefix.
  void add_key(std::string_view left, std::string_view value) {
    value = tidy(value);
    if (value.empty()) return;
    left = core::trim(left);
    if (const std::size_t note = left.rfind(" (");
        note != std::string_view::npos && left.ends_with(')')) {
      left = core::trim(left.substr(0, note));  // `Total train batch size (w. parallel, ...)`
    }
    if (left.find('(') != std::string_view::npos) return;  // code: `train(resume_from_checkpoint`
    std::string key;
    for (const char c : left) {
      if (c != '`' && c != '*' && c != '"' && c != '\'') key += c;
    }
    std::vector<std::size_t> starts;
    for (std::size_t at = key.size(); at-- > 0 && starts.size() < k_most_key_words;) {
      const bool starts_word = is_key_char(key[at]) && (at == 0 || !is_key_char(key[at - 1]));
      if (starts_word) starts.push_back(at);
      if (!is_key_char(key[at]) && key[at] != ' ') break;
    }
    const std::size_t place = static_cast<std::size_t>(value.data() - line_.data());
    for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
      form_.alternatives.push_back({key.substr(*start),
                                    {},
                                    std::string(value.substr(0, 4096)),
                                    number_,
                                    offset_ + place,
                                    value.size(),
                                    false,
                                    false,
                                    false,
                                    false});
    }
  }

  std::string_view line_;
  std::uint64_t number_;
  std::uint64_t offset_;
  LineForm form_;
};

}  // namespace

LineForm read_line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  return LineReader(line, number, offset).read();
}

}  // namespace aplomb::config_text

#include "input/json_cursor.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "core/text.h"
#include "core/utf8.h"

namespace aplomb::input {
namespace {

using core::is_digit;

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The code unit of `\uXXXX`, whose four digits stand at `text`; -1 where they do not.
int code_unit(std::string_view text) {
  if (text.size() < 4) return -1;
  int unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

/// One escape after its backslash: appends what it means; the characters it takes, 0 where it is
/// malformed.
std::size_t unescape_one(std::string_view text, std::string& out) {
  if (text.empty()) return 0;
  switch (text[0]) {
    case '"':
    case '\\':
    case '/':
      out.push_back(text[0]);
      return 1;
    case 'b':
      out.push_back('\b');
      return 1;
    case 'f':
      out.push_back('\f');
      return 1;
    case 'n':
      out.push_back('\n');
      return 1;
    case 'r':
      out.push_back('\r');
      return 1;
    case 't':
      out.push_back('\t');
      return 1;
    case 'u':
      break;
    default:
      return 0;
  }
  const int high = code_unit(text.substr(1));
  if (high < 0) return 0;
  const bool leads = high >= 0xD800 && high < 0xDC00;
  if (leads && text.size() >= 11 && text[5] == '\\' && text[6] == 'u') {
    const int low = code_unit(text.substr(7));
    if (low >= 0xDC00 && low < 0xE000) {
      core::append_utf8(out, 0x10000U + (static_cast<unsigned>(high - 0xD800) << 10U) +
                                 static_cast<unsigned>(low - 0xDC00));
      return 11;
    }
  }
  const bool lone = high >= 0xD800 && high < 0xE000;
  core::append_utf8(out, lone ? 0xFFFDU : static_cast<unsigned>(high));
  return 5;
}

}  // namespace

bool JsonCursor::torn() const {
  // The beginning of a word (`tru`, `-Infin`) at the very end is a tear as well.
  constexpr std::size_t k_longest_word = 9;
  const std::string_view rest = text_.substr(at_);
  return bad_ && rest.size() < k_longest_word &&
         rest.find_first_of(" \n\r\t,:;\"{}[]") == std::string_view::npos;
}

bool JsonCursor::fail_here() {
  bad_ = true;
  return false;
}

JsonCursor::Kind JsonCursor::peek() {
  if (bad_) return Kind::bad;
  skip_blanks();
  if (at_ >= text_.size()) return Kind::end;
  switch (text_[at_]) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::text;
    case 't':
    case 'f':
      return Kind::truth;
    case '-':
    case '.':
    case 'N':
    case 'I':
    case 'i':
      return Kind::number;
    case 'n':
      return text_.substr(at_, 3) == "nan" ? Kind::number : Kind::null;
    default:
      return is_digit(text_[at_]) ? Kind::number : Kind::bad;
  }
}

bool JsonCursor::expect(char c) {
  if (bad_) return false;
  skip_blanks();
  if (at_ >= text_.size() || text_[at_] != c) return fail_here();
  ++at_;
  return true;
}

bool JsonCursor::enter_object() { return expect('{'); }
bool JsonCursor::enter_array() { return expect('['); }

bool JsonCursor::next_member(std::string_view& key) {
  if (bad_) return false;
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    skip_blanks();
  }
  if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
    return false;
  }
  return raw_text(key) && expect(':');
}

bool JsonCursor::next_element() {
  if (bad_) return false;
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    skip_blanks();
  }
  if (at_ >= text_.size()) return fail_here();
  if (text_[at_] == ']') {
    ++at_;
    return false;
  }
  return true;
}

bool JsonCursor::raw_text(std::string_view& out) {
  if (!expect('"')) return false;
  const std::size_t start = at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') ++at_;
  if (at_ < text_.size() && text_[at_] == '"') {
    out = text_.substr(start, at_ - start);
    ++at_;
    return true;
  }
  scratch_.assign(text_.substr(start, at_ - start));
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] != '\\') {
      scratch_.push_back(text_[at_++]);
      continue;
    }
    const std::size_t taken = unescape_one(text_.substr(at_ + 1), scratch_);
    if (taken == 0) {
      if (at_ + 1 >= text_.size()) at_ = text_.size();
      return fail_here();
    }
    at_ += 1 + taken;
  }
  if (at_ >= text_.size()) return fail_here();
  ++at_;
  out = scratch_;
  return true;
}

bool JsonCursor::skip_text() {
  ++at_;  // the opening quote
  while (at_ < text_.size()) {
    const void* quote = std::memchr(text_.data() + at_, '"', text_.size() - at_);
    if (quote == nullptr) break;
    const auto end = static_cast<std::size_t>(static_cast<const char*>(quote) - text_.data());
    std::size_t slashes = 0;
    while (end - slashes > at_ && text_[end - slashes - 1] == '\\') ++slashes;
    at_ = end + 1;
    if (slashes % 2 == 0) return true;
  }
  at_ = text_.size();
  return fail_here();
}

bool JsonCursor::special(std::string_view word, double value, double& out) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  out = value;
  return true;
}

bool JsonCursor::number_here(double& out) {
  constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double k_inf = std::numeric_limits<double>::infinity();
  if (decimal_here(out)) return true;
  return special("NaN", k_nan, out) || special("nan", k_nan, out) || special("-NaN", k_nan, out) ||
         special("-nan", k_nan, out) || special("Infinity", k_inf, out) ||
         special("-Infinity", -k_inf, out) || special("inf", k_inf, out) ||
         special("-inf", -k_inf, out) || special("Inf", k_inf, out) || special("-Inf", -k_inf, out);
}

std::optional<double> JsonCursor::number() {
  if (peek() != Kind::number) return std::nullopt;
  double value = 0;
  if (number_here(value)) return value;
  fail_here();
  return std::nullopt;
}

std::optional<std::string_view> JsonCursor::text() {
  if (peek() != Kind::text) return std::nullopt;
  std::string_view value;
  if (!raw_text(value)) return std::nullopt;
  return value;
}

std::optional<bool> JsonCursor::truth() {
  if (peek() != Kind::truth) return std::nullopt;
  const bool value = text_[at_] == 't';
  const std::string_view word = value ? "true" : "false";
  if (text_.substr(at_, word.size()) != word) {
    fail_here();
    return std::nullopt;
  }
  at_ += word.size();
  return value;
}

void JsonCursor::skip() {
  std::size_t depth = 0;
  do {
    switch (peek()) {
      case Kind::object:
      case Kind::array:
        ++depth;
        ++at_;
        break;
      case Kind::text:
        skip_text();
        break;
      case Kind::number:
        number();
        break;
      case Kind::truth:
        truth();
        break;
      case Kind::null:
        if (text_.substr(at_, 4) != "null") {
          fail_here();
        } else {
          at_ += 4;
        }
        break;
      case Kind::end:
        fail_here();
        break;
      case Kind::bad: {
        // Inside a container punctuation comes between the values; anything else is malformed.
        const char c = bad_ ? '\0' : text_[at_];
        if (depth > 0 && (c == '}' || c == ']')) {
          --depth;
          ++at_;
        } else if (depth > 0 && (c == ',' || c == ':')) {
          ++at_;
        } else {
          fail_here();
        }
      }
    }
  } while (depth > 0 && !bad_);
}

}  // namespace aplomb::input

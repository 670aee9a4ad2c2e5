#include "sources/json_cursor.h"

#include <array>
#include <cfloat>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>

namespace aplomb {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

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
      append_utf8(out, 0x10000U + (static_cast<unsigned>(high - 0xD800) << 10U) +
                           static_cast<unsigned>(low - 0xDC00));
      return 11;
    }
  }
  const bool lone = high >= 0xD800 && high < 0xE000;
  append_utf8(out, lone ? 0xFFFDU : static_cast<unsigned>(high));
  return 5;
}

}  // namespace

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&out, code](unsigned shift) {
    out.push_back(static_cast<char>(0x80U | ((code >> shift) & 0x3FU)));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (code >> 6U)));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (code >> 12U)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | (code >> 18U)));
    tail(12);
    tail(6);
    tail(0);
  }
}

namespace {

/// Powers of ten that a long double of 64 bits holds exactly (5^27 < 2^64).
constexpr std::array<long double, 28> k_powers = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                                  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                                  1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                                  1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/// Digits at `p`, appended to `sum`: eight at a time where so many stand there, then four, then one
/// by one. A step adds neighbours: pairs, fours, eights.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& sum) {
  std::uint64_t total = sum;
  while (end - p >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    const std::uint64_t above = word + 0x4646464646464646U;
    const std::uint64_t below = word - 0x3030303030303030U;
    if (((above | below) & 0x8080808080808080U) != 0) break;
    word = (below * 10) + (below >> 8U);
    word = (((word & 0x000000FF000000FFU) * 0x000F424000000064U) +
            (((word >> 16U) & 0x000000FF000000FFU) * 0x0000271000000001U)) >>
           32U;
    total = total * 100000000U + word;
    p += 8;
  }
  if (end - p >= 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, p, sizeof word);
    const std::uint32_t above = word + 0x46464646U;
    const std::uint32_t below = word - 0x30303030U;
    if (((above | below) & 0x80808080U) == 0) {
      word = ((below * 10) + (below >> 8U)) & 0x00FF00FFU;
      total = total * 10000U + ((word * 100U + (word >> 16U)) & 0xFFFFU);
      p += 4;
    }
  }
  for (; p != end; ++p) {
    const auto digit = static_cast<unsigned>(static_cast<unsigned char>(*p) - '0');
    if (digit > 9) break;
    total = total * 10 + digit;
  }
  sum = total;
  return p;
}

/// mantissa * 10^-scale, exactly rounded; false where that takes more than one operation.
bool exact_quotient(std::uint64_t mantissa, std::ptrdiff_t scale, double& out) {
  constexpr std::uint64_t k_whole = std::uint64_t{1} << 53U;
  constexpr std::ptrdiff_t k_most_scale = 22;
  if (mantissa <= k_whole && scale >= 0 && scale <= k_most_scale) {
    // Clinger's fast path: both are exact doubles, and one division rounds once.
    out = static_cast<double>(mantissa) /
          static_cast<double>(k_powers[static_cast<std::size_t>(scale)]);
    return true;
  }
#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
  if (scale < -27 || scale > 27) return false;
  const long double power = k_powers[static_cast<std::size_t>(scale < 0 ? -scale : scale)];
  const auto whole = static_cast<long double>(mantissa);
  const long double result = scale < 0 ? whole * power : whole / power;
  // `result` is off by at most half of its last place. Rounding it to 53 bits is right unless the
  // 11 bits that go lie next to the middle.
  std::uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof bits);
  const std::uint64_t tail = bits & 0x7FFU;
  if (tail >= 0x3FFU && tail <= 0x401U) return false;
  out = static_cast<double>(result);
  return true;
#else
  return false;
#endif
}

/// The exponent at `p`, which is `e` or `E`; moves `p` behind it. Where no digits follow the letter
/// is no part of the number.
std::ptrdiff_t read_exponent(const char*& p, const char* end) {
  constexpr std::ptrdiff_t k_beyond = 100000;  // of any double
  const char* q = p + 1;
  const bool negative = q != end && *q == '-';
  if (q != end && (*q == '-' || *q == '+')) ++q;
  if (q == end || !is_digit(*q)) return 0;
  std::ptrdiff_t exponent = 0;
  for (; q != end && is_digit(*q); ++q) {
    if (exponent < k_beyond) exponent = exponent * 10 + (*q - '0');
  }
  p = q;
  return negative ? -exponent : exponent;
}

}  // namespace

std::size_t read_decimal(std::string_view text, double& out) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* p = begin;
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  if (p == end || !(is_digit(*p) || (*p == '.' && p + 1 != end && is_digit(p[1])))) return 0;
  std::uint64_t mantissa = 0;
  const char* const digits = p;
  if (is_digit(*p) && p + 1 != end && p[1] == '.') {  // most losses: one digit before the point
    mantissa = static_cast<std::uint64_t>(*p++ - '0');
  } else {
    p = read_digits(p, end, mantissa);
  }
  std::ptrdiff_t count = p - digits;
  std::ptrdiff_t scale = 0;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    p = read_digits(p, end, mantissa);
    scale = p - fraction;
    count += scale;
  }
  if (p != end && (*p == 'e' || *p == 'E')) scale -= read_exponent(p, end);
  constexpr std::ptrdiff_t k_safe_digits = 19;  // any so many fit 64 bits
  double value = 0;
  if (count <= k_safe_digits && exact_quotient(mantissa, scale, value)) {
    out = negative ? -value : value;
    return static_cast<std::size_t>(p - begin);
  }
  const auto done = std::from_chars(begin, end, out);
  if (done.ec == std::errc::result_out_of_range) {
    const std::string_view used(begin, static_cast<std::size_t>(done.ptr - begin));
    const bool tiny =
        used.find("e-") != std::string_view::npos || used.find("E-") != std::string_view::npos;
    out = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    if (negative) out = -out;
  } else if (done.ec != std::errc()) {
    return 0;
  }
  return static_cast<std::size_t>(done.ptr - begin);
}

void JsonCursor::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

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

bool JsonCursor::try_literal(std::string_view literal) {
  if (bad_ || text_.size() - at_ < literal.size()) return false;
  if (std::memcmp(text_.data() + at_, literal.data(), literal.size()) != 0) return false;
  at_ += literal.size();
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
  const std::size_t taken = read_decimal(text_.substr(at_), out);
  at_ += taken;
  if (taken > 0) return true;
  return special("NaN", k_nan, out) || special("nan", k_nan, out) || special("-NaN", k_nan, out) ||
         special("-nan", k_nan, out) || special("Infinity", k_inf, out) ||
         special("-Infinity", -k_inf, out) || special("inf", k_inf, out) ||
         special("-inf", -k_inf, out) || special("Inf", k_inf, out) || special("-Inf", -k_inf, out);
}

bool JsonCursor::try_number(double& out) {
  if (bad_) return false;
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  const std::size_t taken = read_decimal(text_.substr(at_), out);
  at_ += taken;
  return taken > 0;
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

}  // namespace aplomb

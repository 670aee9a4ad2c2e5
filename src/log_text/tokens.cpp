#include "log_text/tokens.h"

#include <array>
#include <cmath>

#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

enum class Kind : std::uint8_t { mark, blank, letter, digit };

constexpr std::array<Kind, 256> make_kinds() {
  std::array<Kind, 256> kinds{};
  for (std::size_t c = 0; c < 256; ++c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80) {
      kinds[c] = Kind::letter;
    } else if (c >= '0' && c <= '9') {
      kinds[c] = Kind::digit;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      kinds[c] = Kind::blank;
    }
  }
  return kinds;
}
constexpr std::array<Kind, 256> k_kinds = make_kinds();

Kind kind_of(char c) { return k_kinds[static_cast<unsigned char>(c)]; }
using core::is_digit;
bool is_name(char c) { return kind_of(c) == Kind::letter || kind_of(c) == Kind::digit; }

class Tokenizer {
 public:
  Tokenizer(std::string_view line, std::vector<Token>& out) : line_(line), out_(out) {}

  void run() {
    out_.clear();
    while (at_ < line_.size() && out_.size() < k_most_tokens) {
      const char c = line_[at_];
      switch (kind_of(c)) {
        case Kind::blank:
          gap_ = static_cast<std::uint8_t>(gap_ >= 1 || c == '\t' ? 2 : 1);
          ++at_;
          break;
        case Kind::digit:
          number();
          break;
        case Kind::letter:
          if (!bar()) word();
          break;
        case Kind::mark:
          if (starts_number()) {
            number();
          } else {
            put(TokenType::mark, at_ + 1).mark = c;
          }
          break;
      }
    }
  }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < line_.size() ? line_[at_ + ahead] : '\0';
  }

  Token& put(TokenType type, std::size_t end) {
    Token token;
    token.begin = static_cast<std::uint32_t>(at_);
    token.end = static_cast<std::uint32_t>(end);
    token.type = type;
    token.gap = gap_;
    gap_ = 0;
    at_ = end;
    out_.push_back(token);
    return out_.back();
  }

  /// A sign or a dot before digits, nan or inf, unless it hangs on a name (`top-1`, `a.5`).
  bool starts_number() const {
    const char c = line_[at_];
    if (c != '-' && c != '+' && c != '.') return false;
    const bool hangs = at_ > 0 && (is_name(line_[at_ - 1]) || line_[at_ - 1] == ')');
    if (hangs) return false;
    const char next = peek(1);
    if (is_digit(next) || (c != '.' && next == '.' && is_digit(peek(2)))) return true;
    return c != '.' && (next == 'n' || next == 'N' || next == 'i' || next == 'I') &&
           special_size(at_ + 1) > 0;
  }

  Scanned number_at(std::size_t at) const {
    return scan_number(line_.data(), line_.data() + at, line_.data() + line_.size());
  }

  /// The size of `nan`, `inf` or `infinity` as a whole word at `at`.
  std::size_t special_size(std::size_t at) const {
    const Scanned found = number_at(at);
    if (found.size == 0 || std::isfinite(found.value)) return 0;
    const std::size_t after = at + found.size;
    return after < line_.size() && is_name(line_[after]) ? 0 : found.size;
  }

  /// The blocks and lines of progress bars and boxes (U+2500 to U+259F) are marks, not letters.
  bool bar() {
    if (line_[at_] != '\xE2' || (peek(1) != '\x94' && peek(1) != '\x95' && peek(1) != '\x96'))
      return false;
    const std::size_t end = std::min(at_ + 3, line_.size());
    put(TokenType::mark, end).mark = '\xE2';
    return true;
  }

  void word() {
    const char head = line_[at_];
    if (head == 'n' || head == 'N' || head == 'i' || head == 'I') {
      // `number of nan iterations`: a name that speaks of NaN.
      const bool named =
          !out_.empty() && out_.back().type == TokenType::word &&
          line_.substr(out_.back().begin, out_.back().end - out_.back().begin) == "of";
      if (const std::size_t size = named ? 0 : special_size(at_); size > 0) {
        const double value = number_at(at_).value;
        put(TokenType::number, at_ + size).value = value;
        return;
      }
    }
    std::size_t end = at_ + 1;
    while (end < line_.size()) {
      if (is_name(line_[end])) {
        ++end;
        continue;
      }
      const char c = line_[end];
      const bool joins = c == '.' || c == '-' || c == '/' || c == '@' || c == '&';
      // `fwd+bwd`: names of two parts; `x+1` is a sum.
      const bool adds = c == '+' && end + 1 < line_.size() && !is_digit(line_[end - 1]) &&
                        !is_digit(line_[end + 1]);
      if (!(joins || adds) || end + 1 >= line_.size() || !is_name(line_[end + 1])) break;
      end += 2;
    }
    put(TokenType::word, end);
  }

  bool joined_digit(std::size_t end, char by) const {
    return end + 1 < line_.size() && line_[end] == by && is_digit(line_[end + 1]);
  }

  /// Whether `1,234,567` goes on at `end`: a comma, three digits, no fourth.
  bool group_at(std::size_t end) const {
    if (end + 3 >= line_.size() || line_[end] != ',') return false;
    for (std::size_t i = 1; i <= 3; ++i) {
      if (!is_digit(line_[end + i])) return false;
    }
    return end + 4 >= line_.size() || !is_digit(line_[end + 4]);
  }

  void number() {
    const Scanned found = number_at(at_);
    std::size_t end = at_ + found.size;
    if (found.size == 0) {
      put(TokenType::mark, at_ + 1).mark = line_[at_];
      return;
    }
    // `Loss is 2. Next`: the dot ends the sentence.
    if (line_[end - 1] == '.' && end - at_ > 1) --end;
    bool integer = true;
    for (std::size_t i = at_; i < end; ++i) integer = integer && is_digit(line_[i]);
    if (joined_digit(end, '.') || joined_digit(end, ':') || joined_digit(end, '-') ||
        is_date(end)) {
      junk(end);
      return;
    }
    double value = found.value;
    while (integer && end - at_ <= 15 && group_at(end)) {
      for (std::size_t i = 1; i <= 3; ++i) value = value * 10 + (line_[end + i] - '0');
      end += 4;
    }
    Token& token = put(TokenType::number, end);
    token.value = value;
    token.integer = integer;
  }

  /// `06/22/2024`, `2024/06/22`: two slashes between digits.
  bool is_date(std::size_t end) const {
    if (!joined_digit(end, '/')) return false;
    std::size_t i = end + 1;
    while (i < line_.size() && is_digit(line_[i])) ++i;
    return joined_digit(i, '/');
  }

  void junk(std::size_t end) {
    while (end < line_.size()) {
      const char c = line_[end];
      const bool joins = (c == '.' || c == ':' || c == '-' || c == '/' || c == ',') &&
                         end + 1 < line_.size() && is_digit(line_[end + 1]);
      if (!is_digit(c) && !joins) break;
      ++end;
    }
    put(TokenType::other, end);
  }

  std::string_view line_;
  std::vector<Token>& out_;
  std::size_t at_ = 0;
  std::uint8_t gap_ = 0;
};

}  // namespace

void tokenize(std::string_view line, std::vector<Token>& out) { Tokenizer(line, out).run(); }

}  // namespace aplomb::log_text

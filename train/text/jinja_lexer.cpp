#include "train/text/jinja_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace aplomb::train::text::jinja {

namespace {

constexpr std::string_view k_blanks = " \t\r\n";

bool is_name_character(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {
    if (text_.ends_with('\n')) text_.remove_suffix(1);
  }
  core::Result<std::vector<Token>> run();

 private:
  using Kind = Token::Kind;

  core::Result<void> tag(std::size_t begin);
  core::Result<void> comment(std::size_t begin);
  core::Result<void> inside(bool print);
  bool close(bool print);
  core::Result<void> string_token();
  void number_token();
  void name_token();
  core::Result<void> sign_token();
  void put_text(std::size_t end, char tag_kind, char control);
  void after_tag(bool trims_line);
  void skip_blanks() { move_to(std::min(text_.find_first_not_of(k_blanks, at_), text_.size())); }
  void move_to(std::size_t place) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
    at_ = place;
  }
  void put(Kind kind, std::string text) {
    tokens_.push_back({.kind = kind, .text = std::move(text), .line = line_});
  }
  tl::unexpected<core::Error> wrong(std::string_view what) const {
    return core::fail(core::ErrorCode::bad_format, fmt::format("line {}: {}", line_, what));
  }
  char at(std::size_t offset) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  ///< the text that follows begins a line
  bool strip_next_ = false;  ///< the tag before ended in -%}
  std::vector<Token> tokens_;
};

core::Result<std::vector<Token>> Lexer::run() {
  while (at_ < text_.size()) {
    std::size_t begin = at_;
    do {
      begin = text_.find('{', begin);
      if (begin == std::string_view::npos) break;
      const char next = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++begin;
    } while (true);
    if (begin == std::string_view::npos) {
      put_text(text_.size(), '\0', '\0');
      break;
    }
    const core::Result<void> done = tag(begin);
    if (!done) return tl::unexpected<core::Error>(done.error());
  }
  put(Kind::end, "");
  return std::move(tokens_);
}

/// The text up to `end`, without the blanks that tags around it take away.
void Lexer::put_text(std::size_t end, char tag_kind, char control) {
  std::string_view text = text_.substr(at_, end - at_);
  if (strip_next_) text.remove_prefix(std::min(text.find_first_not_of(k_blanks), text.size()));
  if (control == '-') {
    text = text.substr(0, text.find_last_not_of(k_blanks) + 1);
  } else if (control != '+' && (tag_kind == '%' || tag_kind == '#')) {
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 == 0
    const bool alone = text.find_first_not_of(" \t", line) == std::string_view::npos;
    const bool begins = line > 0 || (line_begins_ && text.size() == end - at_);
    if (alone && begins) text = text.substr(0, line);
  }
  if (!text.empty()) put(Kind::text, std::string(text));
  strip_next_ = false;
  move_to(end);
}

core::Result<void> Lexer::tag(std::size_t begin) {
  const char kind = text_[begin + 1];
  const char control = begin + 2 < text_.size() ? text_[begin + 2] : '\0';
  put_text(begin, kind, control);
  at_ += 2;
  if (control == '-' || (control == '+' && kind == '%')) ++at_;
  if (kind == '#') return comment(begin);
  put(kind == '{' ? Kind::print_begin : Kind::block_begin, "");
  return inside(kind == '{');
}

core::Result<void> Lexer::comment(std::size_t begin) {
  const std::size_t end = text_.find("#}", begin + 2);
  if (end == std::string_view::npos) return wrong("a comment {# does not end");
  strip_next_ = text_[end - 1] == '-';
  move_to(end + 2);
  after_tag(true);
  return {};
}

void Lexer::after_tag(bool trims_line) {
  line_begins_ = false;
  if (!trims_line || strip_next_ || at(0) != '\n') return;
  move_to(at_ + 1);
  line_begins_ = true;
}

/// Takes the end of a tag, where it stands here.
bool Lexer::close(bool print) {
  const std::string_view mark = print ? "}}" : "%}";
  const bool controlled = at(0) == '-' || (at(0) == '+' && !print);
  if (text_.substr(at_ + (controlled ? 1 : 0), 2) != mark) return false;
  strip_next_ = at(0) == '-';
  const bool keeps_line = at(0) == '+';
  move_to(at_ + (controlled ? 3 : 2));
  put(print ? Kind::print_end : Kind::block_end, "");
  after_tag(!print && !keeps_line);
  return true;
}

core::Result<void> Lexer::inside(bool print) {
  int depth = 0;  // of braces: {{ {"a": {"b": 1}} }}
  while (true) {
    skip_blanks();
    if (at_ >= text_.size()) return wrong(print ? "{{ does not end" : "{% does not end");
    if (depth == 0 && close(print)) return {};
    const char c = at(0);
    core::Result<void> done;
    if (c == '"' || c == '\'') {
      done = string_token();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number_token();
    } else if (is_name_character(c)) {
      name_token();
    } else {
      if (c == '{') ++depth;
      if (c == '}') --depth;
      done = sign_token();
    }
    if (!done) return done;
  }
}

core::Result<void> Lexer::string_token() {
  const char quote = at(0);
  std::string value;
  std::size_t i = at_ + 1;
  for (; i < text_.size() && text_[i] != quote; ++i) {
    if (text_[i] != '\\' || i + 1 >= text_.size()) {
      value += text_[i];
      continue;
    }
    const char escaped = text_[++i];
    constexpr std::string_view k_from = "ntr\\'\"0";
    constexpr std::string_view k_to("\n\t\r\\'\"\0", 7);
    const std::size_t known = k_from.find(escaped);
    if (known == std::string_view::npos) value += '\\';
    value += known == std::string_view::npos ? escaped : k_to[known];
  }
  if (i >= text_.size()) return wrong("a text in quotes does not end");
  put(Kind::string, std::move(value));
  move_to(i + 1);
  return {};
}

void Lexer::number_token() {
  std::size_t end = at_;
  while (end < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[end])) != 0)) ++end;
  if (end + 1 < text_.size() && text_[end] == '.' &&
      std::isdigit(static_cast<unsigned char>(text_[end + 1])) != 0) {
    ++end;
    while (end < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[end])) != 0)) ++end;
  }
  put(Kind::number, std::string(text_.substr(at_, end - at_)));
  at_ = end;
}

void Lexer::name_token() {
  std::size_t end = at_;
  while (end < text_.size() && is_name_character(text_[end])) ++end;
  put(Kind::name, std::string(text_.substr(at_, end - at_)));
  at_ = end;
}

core::Result<void> Lexer::sign_token() {
  constexpr std::array<std::string_view, 6> k_pairs = {"==", "!=", "<=", ">=", "//", "**"};
  const std::string_view pair = text_.substr(at_, 2);
  if (std::find(k_pairs.begin(), k_pairs.end(), pair) != k_pairs.end()) {
    put(Kind::sign, std::string(pair));
    at_ += 2;
    return {};
  }
  constexpr std::string_view k_single = "+-*/%~<>=()[]{},.:|";
  if (k_single.find(at(0)) == std::string_view::npos)
    return wrong(fmt::format("the character '{}' has no meaning here", at(0)));
  put(Kind::sign, std::string(1, at(0)));
  ++at_;
  return {};
}

}  // namespace

core::Result<std::vector<Token>> lex_template(std::string_view text) { return Lexer(text).run(); }

}  // namespace aplomb::train::text::jinja

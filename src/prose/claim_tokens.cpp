#include "prose/claim_tokens.h"

#include <array>
#include <utility>

#include "core/letters.h"
#include "core/text.h"

namespace aplomb::prose {
namespace {

using core::is_digit;
using core::is_letter;

/// Marks of other scripts, in the form that the grammar knows.
constexpr std::array<std::pair<std::string_view, char>, 16> k_marks = {{{"，", ','},
                                                                        {"、", ','},
                                                                        {"。", '.'},
                                                                        {"；", ';'},
                                                                        {"：", ':'},
                                                                        {"？", '?'},
                                                                        {"！", '!'},
                                                                        {"（", '('},
                                                                        {"）", ')'},
                                                                        {"％", '%'},
                                                                        {"～", '~'},
                                                                        {"→", '>'},
                                                                        {"–", ','},
                                                                        {"—", ','},
                                                                        {"…", '.'},
                                                                        {"“", '"'}}};

class Tokenizer {
 public:
  Tokenizer(std::string_view text, std::size_t most) : text_(text), most_(most) {}

  std::vector<Token> run() {
    while (at_ < text_.size() && tokens_.size() < most_) {
      if (!number() && !word() && !mark() && !wide()) ++at_;
    }
    return std::move(tokens_);
  }

 private:
  char ahead(std::size_t by) const { return at_ + by < text_.size() ? text_[at_ + by] : ' '; }

  void add(TokenKind kind, std::string text, double value = 0) {
    tokens_.push_back({kind, std::move(text), value});
  }

  /// A minus belongs to a number only where it cannot be a hyphen.
  bool number() {
    const bool minus =
        text_[at_] == '-' && is_digit(ahead(1)) &&
        (at_ == 0 || std::string_view(" (=:,").find(text_[at_ - 1]) != std::string_view::npos);
    const bool point = text_[at_] == '.' && is_digit(ahead(1));
    if (!is_digit(text_[at_]) && !minus && !point) return false;
    core::NumberPrefix prefix = core::parse_number_prefix(text_.substr(at_));
    if (prefix.size == 0) return false;
    std::size_t size = prefix.size;
    if (text_[at_ + size - 1] == '.') --size;  // the end of a sentence, not a decimal point
    thousands(size, prefix.value);
    add(TokenKind::number, std::string(text_.substr(at_, size)), prefix.value);
    at_ += size;
    return true;
  }

  /// `298,760,397`: groups of three digits behind one to three.
  void thousands(std::size_t& size, double& value) const {
    if (size > 3 || !is_digit(text_[at_])) return;
    std::string digits(text_.substr(at_, size));
    std::size_t end = at_ + size;
    const auto group = [&](std::size_t from) {
      if (from + 3 >= text_.size() || text_[from] != ',') return false;
      for (std::size_t i = 1; i <= 3; ++i) {
        if (!is_digit(text_[from + i])) return false;
      }
      return from + 4 >= text_.size() || !is_digit(text_[from + 4]);
    };
    while (group(end)) {
      digits += text_.substr(end + 1, 3);
      end += 4;
    }
    if (end == at_ + size) return;
    size = end - at_;
    value = core::parse_number_prefix(digits).value;
  }

  bool word() {
    if (!is_letter(text_[at_])) return false;
    std::string word;
    while (at_ < text_.size()) {
      constexpr std::string_view k_curly = "’";
      const bool apostrophe = text_[at_] == '\'' && is_letter(ahead(1));
      if (is_letter(text_[at_]) || is_digit(text_[at_]) || apostrophe) {
        word += text_[at_++];
      } else if (text_.substr(at_).starts_with(k_curly)) {
        word += '\'';
        at_ += k_curly.size();
      } else {
        break;
      }
    }
    add(TokenKind::word, core::lower(word));
    return true;
  }

  bool mark() {
    constexpr std::string_view k_plain = ".,;:!?()%~<>=/\"&|";
    for (const auto& [written, means] : k_marks) {
      if (!text_.substr(at_).starts_with(written)) continue;
      // The Chinese full stop ends a sentence whatever follows it.
      add(TokenKind::mark, written == "。" ? ". " : std::string(1, means));
      at_ += written.size();
      return true;
    }
    const char c = text_[at_] == '\\' ? '/' : text_[at_];
    if (k_plain.find(c) == std::string_view::npos) return false;
    const bool open_end = c == '.' && ahead(1) != ' ' && at_ + 1 < text_.size();
    add(TokenKind::mark, c == '.' && !open_end ? ". " : std::string(1, c));
    ++at_;
    return true;
  }

  /// One character of more than one byte. Letters of ideographic and kana blocks (three bytes, from
  /// U+3040 on) are words; others part words.
  bool wide() {
    const auto lead = static_cast<unsigned char>(text_[at_]);
    if (lead < 0xC0) return false;
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (at_ + size > text_.size()) return false;
    if (size == 3 && lead >= 0xE3) add(TokenKind::word, std::string(text_.substr(at_, size)));
    at_ += size;
    return true;
  }

  std::string_view text_;
  std::size_t most_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, std::size_t most) {
  return Tokenizer(text, most).run();
}

bool ends_sentence(const Token& token) {
  return token.kind == TokenKind::mark &&
         (token.text == ". " || token.text == "!" || token.text == "?");
}

}  // namespace aplomb::prose

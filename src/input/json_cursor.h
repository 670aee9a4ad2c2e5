#pragma once
/// JsonCursor: walks JSON text once, from the front, without building a tree. It takes what Python
/// writes and the standard forbids (`NaN`, `Infinity`, `-Infinity`), and of a torn document it
/// gives all that stands before the tear.
///
///     JsonCursor json(text);                       // {"step": 5, "loss": NaN, "note": "x"}
///     json.enter_object();
///     for (std::string_view key; json.next_member(key);) {
///       if (auto number = json.number()) use(key, *number);
///       else json.skip();                          // each member's value is taken by exactly one
///     }                                            // call: number(), text(), truth(), skip(),
///                                                  // or enter_*() and its members
///     if (json.bad()) torn_at(json.at());          // torn, or malformed
///
/// The text must outlive the cursor. No recursion, no allocation but for keys and texts with
/// escapes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/decimal.h"

namespace aplomb::input {

class JsonCursor {
 public:
  enum class Kind { object, array, text, number, truth, null, end, bad };

  explicit JsonCursor(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  /// What the next value is; does not move past it.
  Kind peek();

  bool enter_object();  ///< false (and bad) where the next value is none
  bool enter_array();
  /// Moves to the value of the next member; false at the end of the object or where the text is
  /// bad. `key` is valid until the next call that gives a text.
  bool next_member(std::string_view& key);
  /// Moves to the next element; false at the end of the array or where the text is bad.
  bool next_element();

  /// The value, moving past it; nothing (and nothing moved) where the next value is of another
  /// kind.
  std::optional<double> number();
  /// The quick way to a number that is neither NaN nor infinite; false, and past blanks only, where
  /// another value comes next.
  bool try_number(double& out) {
    if (bad_) return false;
    skip_blanks();
    return decimal_here(out);
  }
  std::optional<std::string_view> text();
  std::optional<bool> truth();
  /// Moves past any value, however deep.
  void skip();

  /// Where exactly these bytes come next (`, "loss": `), moves past them. The quick way through
  /// records that are written alike: next_member() where it fails.
  bool try_literal(std::string_view literal) {
    const bool here = !bad_ && text_.size() - at_ >= literal.size() &&
                      core::same_bytes(text_.data() + at_, literal.data(), literal.size());
    if (here) at_ += literal.size();
    return here;
  }
  /// The text from `begin` to where the cursor is.
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  std::size_t at() const { return at_; }
  bool bad() const { return bad_; }
  /// Whether the text ended in the middle of a value, rather than being malformed.
  bool torn() const;

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool decimal_here(double& out) {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const bool negative = begin < end && *begin == '-';
    const char* const digits = begin + (negative ? 1 : 0);
    const char* const after = core::read_unsigned(text_.data(), digits, end, out);
    if (after == digits) return false;
    if (negative) out = -out;
    at_ += static_cast<std::size_t>(after - begin);
    return true;
  }
  bool fail_here();
  bool expect(char c);
  bool raw_text(std::string_view& out);
  bool skip_text();
  bool special(std::string_view word, double value, double& out);
  bool number_here(double& out);

  std::string_view text_;
  std::size_t at_;
  bool bad_ = false;
  std::string scratch_;
};

}  // namespace aplomb::input

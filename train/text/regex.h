#pragma once
/// Regex: the patterns of tokenizer.json (written for Oniguruma) through PCRE2's compiler.
///
/// What the two read differently is rewritten: \s and \S become the Unicode property White_Space
/// (PCRE2 adds U+180E), \w and \W letters, marks, decimal digits and connectors (PCRE2 10.42 has no
/// marks), ^ and $ hold at line ends. Or refused: \b, \h, \S and \W in classes, && in classes.
/// Unicode 14 (PCRE2 10.42): letters encoded later are no letters.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace aplomb::train::text {

struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Regex {
 public:
  static core::Result<Regex> compile(std::string_view pattern);
  /// Matches exactly `text`.
  static Regex literal(std::string_view text);

  /// The first match at or after `from`; `text` must be UTF-8. Threads: yes.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;  ///< none: literal_
  std::string literal_;
};

/// Calls found(Match) for all matches in order; an empty match advances by a character.
template <class Found>
void for_each_match(const Regex& regex, std::string_view text, Found&& found) {
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::optional<Match> match = regex.find(text, from);
    if (!match) return;
    if (match->begin < match->end) {
      found(*match);
      from = match->end;
      continue;
    }
    from = match->end + 1;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  }
}

}  // namespace aplomb::train::text

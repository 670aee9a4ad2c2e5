#pragma once
/// What tokenizers ask about characters, and the normal forms (by utf8proc).

#include <string>
#include <string_view>

namespace aplomb::train::text {

bool is_space(char32_t point);   ///< property White_Space
bool is_number(char32_t point);  ///< general category N
bool is_punctuation(
    char32_t point);           ///< general category P, or ASCII punctuation ($ + < = > ^ ` | ~)
bool is_mark(char32_t point);  ///< general category M
bool is_word(char32_t point);  ///< \w: letters, marks, decimal digits, connectors, joiners

enum class NormalForm { nfc, nfd, nfkc, nfkd };
/// `text` in that form, in place. `text` must be UTF-8.
void normalize(std::string& text, NormalForm form);
/// Each character lower-cased by itself (no context: a final sigma stays a sigma).
void to_lower(std::string& text);

}  // namespace aplomb::train::text

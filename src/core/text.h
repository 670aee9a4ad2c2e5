#pragma once
/// Small text helpers that every reader needs: trimming, case folding, numbers as trainers print
/// them. Nothing here allocates unless it returns a std::string.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aplomb::core {

/// 0 to 9, whatever the locale.
constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

std::string_view trim(std::string_view text);
bool iequals(std::string_view a, std::string_view b);
std::string lower(std::string_view text);
bool icontains(std::string_view text, std::string_view part);

/// A number as trainers and Python print it: `1`, `-2.5e-05`, `nan`, `-inf`, `NaN`, `Infinity`,
/// `1_000`, `.5`. The whole of `text` must be the number (no unit, no surrounding blanks). Nothing
/// for anything else.
std::optional<double> parse_number(std::string_view text);

/// The longest number at the head of `text` and how many characters it takes; 0 characters where
/// there is none.
struct NumberPrefix {
  double value = 0;
  std::size_t size = 0;
};
NumberPrefix parse_number_prefix(std::string_view text);

/// The value for people: up to `digits` significant digits, `nan` and `inf` spelled so, no trailing
/// zeros.
std::string show_number(double value, int digits = 4);

/// Bytes for people: `60.0 MiB`, `4.34 GiB`.
std::string show_bytes(double bytes);

/// Cuts to at most `width` characters (not bytes, UTF-8 stays whole), ending in `...` where
/// something was cut.
std::string shorten(std::string_view text, std::size_t width);

/// So that a text may stand in JSON, HTML and on a terminal: invalid UTF-8 becomes U+FFFD, a control
/// character (but tab) a blank; what is invisible or turns the text around is written `<U+202E>`.
std::string sanitize(std::string_view text);
/// The same, but line feeds stay.
std::string sanitize_lines(std::string_view text);

}  // namespace aplomb::core

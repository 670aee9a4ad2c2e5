#pragma once
/// Numbers as trainers print them, at the speed of the log scanner, and the units glued to them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/decimal.h"

namespace aplomb::log_text {

/// The number at the head of [begin, end) and how many bytes it takes; 0 bytes where there is none.
/// Understands what core/text.h's parse_number_prefix does, and Windows' spellings of NaN
/// (`-nan(ind)`, `1.#QNAN`, `1.#INF`). Exact: see core/decimal.h, which also says what `first` is.
struct Scanned {
  double value = 0;
  std::size_t size = 0;
};

/// NaN and infinity in their spellings.
Scanned scan_special(const char* begin, const char* end);

inline Scanned scan_number(const char* first, const char* begin, const char* end) {
  const bool negative = begin < end && *begin == '-';
  const char* const digits = begin + (negative || (begin < end && *begin == '+') ? 1 : 0);
  double value = 0;
  const char* const after = core::read_unsigned(first, digits, end, value);
  const bool windows = after < end && *after == '#';
  if (after == digits || windows) {
    const Scanned special = scan_special(begin, end);
    if (special.size > 0 || after == digits) return special;
  }
  return {negative ? -value : value, static_cast<std::size_t>(after - begin)};
}
inline Scanned scan_number(std::string_view text) {
  return scan_number(text.data(), text.data(), text.data() + text.size());
}

/// What a unit measures, and the factor to the unit of aplomb's own series (s, bytes, fraction).
enum class Dimension : std::uint8_t { none, time_s, bytes, percent, count, rate };
struct Unit {
  Dimension dimension = Dimension::none;
  double factor = 1;
};

/// `ms`, `s/step`, `GiB`, `MB`, `%`, `it/s`, `K`: nothing for other words.
std::optional<Unit> unit_of(std::string_view word);

}  // namespace aplomb::log_text

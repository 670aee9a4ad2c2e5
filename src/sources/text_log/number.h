#pragma once
/// Numbers as trainers print them, at the speed of the log scanner, and the units glued to them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::text_log {

/// The number at the head of [begin, end) and how many bytes it takes; 0 bytes where there is none.
/// Understands what core/text.h's parse_number_prefix does, and Windows' spellings of NaN
/// (`-nan(ind)`, `1.#QNAN`, `1.#INF`). Exact: at most 2^53 times a power of ten that a double holds
/// is one rounding, up to 19 digits go
/// through Eisel's and Lemire's method, all else through std::from_chars.
struct Scanned {
  double value = 0;
  std::size_t size = 0;
};
Scanned scan_number(const char* begin, const char* end);

/// What a unit measures, and the factor to the unit of aplomb's own series (s, bytes, fraction).
enum class Dimension : std::uint8_t { none, time_s, bytes, percent, count, rate };
struct Unit {
  Dimension dimension = Dimension::none;
  double factor = 1;
};

/// `ms`, `s/step`, `GiB`, `MB`, `%`, `it/s`, `K`: nothing for other words.
std::optional<Unit> unit_of(std::string_view word);

}  // namespace aplomb::text_log

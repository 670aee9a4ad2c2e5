#include "log_text/number.h"

#include <limits>
#include <utility>

#include "core/text.h"

namespace aplomb::log_text {
namespace {

using core::is_digit;

/// `1.#QNAN`, `1.#IND`, `-1.#INF`: what Microsoft's C library once printed.
Scanned windows_special(std::string_view rest, std::size_t before, bool negative) {
  constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double k_inf = std::numeric_limits<double>::infinity();
  static constexpr std::pair<std::string_view, double> k_spellings[] = {
      {"1.#QNAN", k_nan}, {"1.#IND", k_nan}, {"1.#SNAN", k_nan}, {"1.#INF", k_inf}};
  for (const auto& [spelling, value] : k_spellings) {
    if (!rest.starts_with(spelling)) continue;
    std::size_t size = spelling.size();
    while (size < rest.size() && is_digit(rest[size])) ++size;  // `1.#INF00`
    return {negative ? -value : value, before + size};
  }
  return {};
}

Scanned not_finite(const char* begin, const char* end) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const core::NumberPrefix found = core::parse_number_prefix(text);
  std::size_t size = found.size;
  if (size >= 3 && text.substr(size).starts_with("(ind)")) size += 5;
  return {found.value, size};
}

}  // namespace

Scanned scan_special(const char* begin, const char* end) {
  const char* const body = begin + (begin < end && (*begin == '-' || *begin == '+') ? 1 : 0);
  const std::string_view rest(body, static_cast<std::size_t>(end - body));
  if (rest.starts_with("1.#"))
    return windows_special(rest, static_cast<std::size_t>(body - begin), *begin == '-');
  return not_finite(begin, end);
}

std::optional<Unit> unit_of(std::string_view word) {
  using enum Dimension;
  constexpr double k_kib = 1024;
  static constexpr std::pair<std::string_view, Unit> k_units[] = {
      {"%", {percent, 0.01}},
      {"s", {time_s, 1}},
      {"sec", {time_s, 1}},
      {"secs", {time_s, 1}},
      {"second", {time_s, 1}},
      {"seconds", {time_s, 1}},
      {"ms", {time_s, 1e-3}},
      {"us", {time_s, 1e-6}},
      {"min", {time_s, 60}},
      {"m", {none, 1}},
      {"h", {time_s, 3600}},
      {"s/it", {time_s, 1}},
      {"s/iter", {time_s, 1}},
      {"s/step", {time_s, 1}},
      {"s/batch", {time_s, 1}},
      {"s/epoch", {time_s, 1}},
      {"ms/it", {time_s, 1e-3}},
      {"ms/step", {time_s, 1e-3}},
      {"us/step", {time_s, 1e-6}},
      {"b", {bytes, 1}},
      {"bytes", {bytes, 1}},
      {"kb", {bytes, k_kib}},
      {"kib", {bytes, k_kib}},
      {"mb", {bytes, k_kib * k_kib}},
      {"mib", {bytes, k_kib * k_kib}},
      {"gb", {bytes, k_kib * k_kib * k_kib}},
      {"gib", {bytes, k_kib * k_kib * k_kib}},
      {"tib", {bytes, k_kib * k_kib * k_kib * k_kib}},
      {"k", {count, 1e3}},
      {"x", {none, 1}},
      {"w", {none, 1}},
      {"it/s", {rate, 1}},
      {"iter/s", {rate, 1}},
      {"its/s", {rate, 1}},
      {"step/s", {rate, 1}},
      {"steps/s", {rate, 1}},
      {"tok/s", {rate, 1}},
      {"tokens/s", {rate, 1}},
      {"samples/s", {rate, 1}},
      {"img/s", {rate, 1}},
      {"images/s", {rate, 1}},
      {"examples/s", {rate, 1}},
  };
  if (word.empty() || word.size() > 10) return std::nullopt;
  // A capital M or G alone is bytes in memory columns, a factor in counts: the caller knows.
  if (word == "M") return Unit{bytes, k_kib * k_kib};
  if (word == "G") return Unit{bytes, k_kib * k_kib * k_kib};
  for (const auto& [name, unit] : k_units) {
    if (name.size() == word.size() && core::iequals(name, word)) return unit;
  }
  return std::nullopt;
}

}  // namespace aplomb::log_text

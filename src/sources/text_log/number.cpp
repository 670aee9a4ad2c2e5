#include "sources/text_log/number.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "core/text.h"

namespace aplomb::text_log {
namespace {

/// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> k_ten = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// The digits of [p, end) added to `mantissa`; counts them.
const char* read_digits(const char* p, const char* end, std::uint64_t& mantissa, int& digits) {
  while (p < end && is_digit(*p)) {
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
    ++digits;
    ++p;
  }
  return p;
}

/// An exponent at p (`e-05`); leaves p where there is none.
const char* read_exponent(const char* p, const char* end, int& exponent) {
  const char* q = p + 1;
  bool negative = false;
  if (q < end && (*q == '-' || *q == '+')) {
    negative = *q == '-';
    ++q;
  }
  if (q >= end || !is_digit(*q)) return p;
  int value = 0;
  while (q < end && is_digit(*q)) {
    if (value < 10000) value = value * 10 + (*q - '0');
    ++q;
  }
  exponent += negative ? -value : value;
  return q;
}

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

Scanned slow_number(const char* begin, const char* end) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const NumberPrefix found = parse_number_prefix(text);
  std::size_t size = found.size;
  if (size >= 3 && text.substr(size).starts_with("(ind)")) size += 5;
  return {found.value, size};
}

}  // namespace

Scanned scan_number(const char* begin, const char* end) {
  const char* p = begin;
  const bool negative = p < end && *p == '-';
  if (p < end && (negative || *p == '+')) ++p;
  std::uint64_t mantissa = 0;
  int digits = 0;
  const char* whole = p;
  p = read_digits(p, end, mantissa, digits);
  if (p == end || *p != '.') {
    if (p == whole) return slow_number(begin, end);  // nan, inf or nothing
  }
  int exponent = 0;
  if (p < end && *p == '.') {
    if (p + 1 < end && p[1] == '#') {
      return windows_special({whole, static_cast<std::size_t>(end - whole)},
                             static_cast<std::size_t>(whole - begin), negative);
    }
    const char* fraction = p + 1;
    const char* after = read_digits(fraction, end, mantissa, digits);
    exponent = -static_cast<int>(after - fraction);
    if (digits == 0) return {};
    p = after;
  }
  if (p < end && (*p == 'e' || *p == 'E')) p = read_exponent(p, end, exponent);
  // Clinger's fast path: both factors are exact, so the product or quotient is rounded once.
  if (digits <= 19 && mantissa <= (1ULL << 53U) && exponent >= -22 && exponent <= 22) {
    auto value = static_cast<double>(mantissa);
    value = exponent < 0 ? value / k_ten[static_cast<std::size_t>(-exponent)]
                         : value * k_ten[static_cast<std::size_t>(exponent)];
    return {negative ? -value : value, static_cast<std::size_t>(p - begin)};
  }
  return {slow_number(begin, p).value, static_cast<std::size_t>(p - begin)};
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
  if (word.size() > 10) return std::nullopt;
  // A capital M or G alone is bytes in memory columns, a factor in counts: the caller knows.
  if (word == "M") return Unit{bytes, k_kib * k_kib};
  if (word == "G") return Unit{bytes, k_kib * k_kib * k_kib};
  for (const auto& [name, unit] : k_units) {
    if (iequals(name, word)) return unit;
  }
  return std::nullopt;
}

}  // namespace aplomb::text_log

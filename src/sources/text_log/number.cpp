#include "sources/text_log/number.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "core/text.h"

namespace aplomb::text_log {
namespace {

/// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> k_ten = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

using Wide = unsigned __int128;

/// 5^q for q of -27 to 27 as 128 bits with the highest one set; negative powers are rounded up, as
/// the method below asks.
constexpr int k_most_exponent = 27;
struct Power {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

constexpr int leading_zeros(Wide value) {
  int zeros = 0;
  while ((value >> 127U) == 0) {
    value <<= 1U;
    ++zeros;
  }
  return zeros;
}

constexpr std::array<Power, 2 * k_most_exponent + 1> make_powers() {
  std::array<Power, 2 * k_most_exponent + 1> powers{};
  Wide five = 1;
  for (int n = 0; n <= k_most_exponent; ++n, five *= 5) {
    const Wide whole = five << static_cast<unsigned>(leading_zeros(five));
    const auto up = static_cast<std::size_t>(k_most_exponent + n);
    powers[up] = {static_cast<std::uint64_t>(whole >> 64U), static_cast<std::uint64_t>(whole)};
    if (n == 0) continue;
    // The first 128 bits of 1 / 5^n by long division, one bit at a time.
    Wide quotient = 0;
    Wide rest = 1;
    while ((quotient >> 127U) == 0) {
      rest <<= 1U;
      quotient <<= 1U;
      if (rest >= five) {
        rest -= five;
        quotient |= 1U;
      }
    }
    ++quotient;
    const auto down = static_cast<std::size_t>(k_most_exponent - n);
    powers[down] = {static_cast<std::uint64_t>(quotient >> 64U),
                    static_cast<std::uint64_t>(quotient)};
  }
  return powers;
}
constexpr auto k_powers = make_powers();

/// mantissa * 10^exponent rounded to the nearest double, ties to even, for exponents within 27:
/// Eisel's and Lemire's method ("Number Parsing at a Gigabyte per Second", 2021), in the range in
/// which 128 bits of the power always suffice and no result is subnormal.
double product_of(std::uint64_t mantissa, int exponent) {
  const int zeros = std::countl_zero(mantissa);
  const std::uint64_t shifted = mantissa << static_cast<unsigned>(zeros);
  const Power& power = k_powers[static_cast<std::size_t>(exponent + k_most_exponent)];
  Wide product = static_cast<Wide>(shifted) * power.high;
  if ((static_cast<std::uint64_t>(product >> 64U) & 0x1FFU) == 0x1FFU)
    product += (static_cast<Wide>(shifted) * power.low) >> 64U;
  const auto high = static_cast<std::uint64_t>(product >> 64U);
  const auto low = static_cast<std::uint64_t>(product);
  const auto top = static_cast<unsigned>(high >> 63U);
  std::uint64_t bits = high >> (top + 9);  // 54 bits: the double's 53 and one to round by
  int binary = ((217706 * exponent) >> 16) + 63 + static_cast<int>(top) - zeros;
  const bool tie = low <= 1 && exponent >= -4 && exponent <= 23 && (bits & 3U) == 1 &&
                   (bits << (top + 9)) == high;
  if (tie) bits &= ~1ULL;
  bits = (bits + (bits & 1U)) >> 1U;
  if (bits >= (1ULL << 53U)) {
    bits = 1ULL << 52U;
    ++binary;
  }
  const std::uint64_t double_bits =
      (bits & ((1ULL << 52U) - 1)) | (static_cast<std::uint64_t>(binary + 1023) << 52U);
  return std::bit_cast<double>(double_bits);
}

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Whether all eight bytes of a word are digits, and their number. (Mula's and Lemire's trick: add
/// neighbours in pairs, then pairs in fours, then fours.)
bool all_digits(std::uint64_t word) {
  return ((word & 0xF0F0F0F0F0F0F0F0ULL) |
          (((word + 0x0606060606060606ULL) & 0xF0F0F0F0F0F0F0F0ULL) >> 4U)) ==
         0x3333333333333333ULL;
}
std::uint64_t eight_digits(std::uint64_t word) {
  word -= 0x3030303030303030ULL;
  word = word * 10 + (word >> 8U);
  constexpr std::uint64_t k_mask = 0x000000FF000000FFULL;
  const std::uint64_t low = (word & k_mask) * (100 + (1000000ULL << 32U));
  const std::uint64_t high = ((word >> 16U) & k_mask) * (1 + (10000ULL << 32U));
  return (low + high) >> 32U;
}

/// The digits of [p, end) added to `mantissa`; counts those that are significant.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& mantissa,
                               int& digits) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, 8);
      if (!all_digits(word)) break;
      const bool leading = mantissa == 0;
      mantissa = mantissa * 100000000 + eight_digits(word);
      // Zeros at the head of a first word of digits count as significant here: too many, never too
      // few, so that a mantissa that may have run over is never trusted.
      digits += leading && mantissa == 0 ? 0 : 8;
      p += 8;
    }
  }
  while (p < end && is_digit(*p)) {
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
    if (mantissa != 0) ++digits;
    ++p;
  }
  return p;
}

/// mantissa * 10^exponent, rounded to double as the standard asks, where that is cheap to know.
bool fast_product(std::uint64_t mantissa, int exponent, double& value) {
  // Clinger's fast path: both factors are exact, so the product or quotient is rounded once.
  if (mantissa <= (1ULL << 53U) && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(mantissa);
    value = exponent < 0 ? value / k_ten[static_cast<std::size_t>(-exponent)]
                         : value * k_ten[static_cast<std::size_t>(exponent)];
    return true;
  }
  if (exponent < -k_most_exponent || exponent > k_most_exponent || mantissa == 0) return false;
  value = product_of(mantissa, exponent);
  return true;
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
    if (after == fraction && fraction - 1 == whole) return {};
    p = after;
  }
  if (p < end && (*p == 'e' || *p == 'E')) p = read_exponent(p, end, exponent);
  double value = 0;
  if (digits <= 19 && fast_product(mantissa, exponent, value))
    return {negative ? -value : value, static_cast<std::size_t>(p - begin)};
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
  if (word.empty() || word.size() > 10) return std::nullopt;
  // A capital M or G alone is bytes in memory columns, a factor in counts: the caller knows.
  if (word == "M") return Unit{bytes, k_kib * k_kib};
  if (word == "G") return Unit{bytes, k_kib * k_kib * k_kib};
  for (const auto& [name, unit] : k_units) {
    if (name.size() == word.size() && iequals(name, word)) return unit;
  }
  return std::nullopt;
}

}  // namespace aplomb::text_log

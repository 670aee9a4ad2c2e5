#pragma once
/// Decimal numbers in text -> the nearest double, bit for bit what std::from_chars gives, several
/// times faster for what trainers print (up to 19 digits, exponents within 54).
///
///     double value = 0;
///     const char* after = read_unsigned(text, p, end, value);    // after == p: no number there
///
/// Method: eight digits at a time in one 64-bit word, a last group of fewer without a loop (how
/// many digits a number has is chance, and a loop over them would be mispredicted); then one or two
/// 64-bit products with a power of ten (Eisel's and Lemire's method: Lemire, "Number Parsing at a
/// Gigabyte per Second", 2021). What that cannot decide goes through std::from_chars.
///
/// `first` is the beginning of the text that [p, end) lies in: a group of digits near `end` is
/// loaded from before it.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/bytes.h"

namespace aplomb::core {

namespace decimal {

/// 5^q for q of -k_most_exponent to k_most_exponent: 128 bits with the highest one set. 5^54 is the
/// largest power that those bits hold with room for the division that gives the negative ones.
constexpr int k_most_exponent = 54;
struct Power {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};
extern const std::array<Power, 2 * k_most_exponent + 1> k_powers;

constexpr std::array<std::uint64_t, 9> k_tens = {1,      10,      100,      1000,     10000,
                                                 100000, 1000000, 10000000, 100000000};

/// Eight digits (0 to 9, not their characters), the first in the lowest byte. Adds neighbours:
/// pairs, fours, eights.
inline std::uint64_t eight_digits(std::uint64_t digits) {
  constexpr std::uint64_t k_pairs = 0x000000FF000000FFU;
  digits = digits * 10 + (digits >> 8U);
  return ((digits & k_pairs) * 0x000F424000000064U +
          ((digits >> 16U) & k_pairs) * 0x0000271000000001U) >>
         32U;
}

/// The digits at p, appended to `sum` (modulo 2^64); where they end.
inline const char* read_digits(const char* first, const char* p, const char* end,
                               std::uint64_t& sum) {
  constexpr std::ptrdiff_t k_word = 8;
  if constexpr (std::endian::native == std::endian::little) {
    while (p < end && end - first >= k_word) {
      const std::ptrdiff_t left = end - p;
      const std::uint64_t word =
          left >= k_word ? load8(p)
                         : load8(end - k_word) >> static_cast<unsigned>(8 * (k_word - left));
      const std::uint64_t digits = word - 0x3030303030303030U;
      const std::uint64_t others =
          (digits | (word + 0x4646464646464646U) | word) & 0x8080808080808080U;
      if (others == 0) {
        sum = sum * k_tens[8] + eight_digits(digits);
        p += k_word;
        continue;
      }
      const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
      if (count == 0) return p;
      sum = sum * k_tens[count] + eight_digits(digits << (64 - 8 * count));
      return p + count;
    }
  }
  for (; p < end; ++p) {
    const auto digit = static_cast<unsigned>(static_cast<unsigned char>(*p) - '0');
    if (digit > 9) break;
    sum = sum * 10 + digit;
  }
  return p;
}

/// mantissa * 10^exponent, the nearest double, ties to even; false where that takes more than this.
inline bool nearest(std::uint64_t mantissa, std::ptrdiff_t exponent, double& out) {
  using Wide = unsigned __int128;
  if (exponent < -k_most_exponent || exponent > k_most_exponent) return false;
  if (mantissa == 0) {
    out = 0;
    return true;
  }
  const int zeros = std::countl_zero(mantissa);
  const std::uint64_t shifted = mantissa << static_cast<unsigned>(zeros);
  const Power& power = k_powers[static_cast<std::size_t>(exponent + k_most_exponent)];
  Wide product = static_cast<Wide>(shifted) * power.high;
  if ((static_cast<std::uint64_t>(product >> 64U) & 0x1FFU) == 0x1FFU)
    product += (static_cast<Wide>(shifted) * power.low) >> 64U;
  const auto high = static_cast<std::uint64_t>(product >> 64U);
  const auto low = static_cast<std::uint64_t>(product);
  if (low == ~std::uint64_t{0} && exponent < -27) return false;  // 128 bits do not tell
  const auto top = static_cast<unsigned>(high >> 63U);
  std::uint64_t bits = high >> (top + 9);  // 54 bits: the double's 53 and one to round by
  int binary = ((217706 * static_cast<int>(exponent)) >> 16) + 63 + static_cast<int>(top) - zeros;
  const bool tie = low <= 1 && exponent >= -4 && exponent <= 23 && (bits & 3U) == 1 &&
                   (bits << (top + 9)) == high;
  if (tie) bits &= ~std::uint64_t{1};
  bits = (bits + (bits & 1U)) >> 1U;
  if (bits >= (std::uint64_t{1} << 53U)) {
    bits = std::uint64_t{1} << 52U;
    ++binary;
  }
  out = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52U) - 1)) |
                              (static_cast<std::uint64_t>(binary + 1023) << 52U));
  return true;
}

/// The exponent at p (`e-05`), added; leaves p where there is none.
const char* read_exponent(const char* p, const char* end, std::ptrdiff_t& exponent);
/// The number [begin, end), whatever it takes.
double read_slowly(const char* begin, const char* end, std::uint64_t mantissa,
                   std::ptrdiff_t exponent);

}  // namespace decimal

/// Digits with a point or without, and an exponent; no sign, no NaN. Where it ends; p where there
/// is none. Too large: infinite; too small: 0.
inline const char* read_unsigned(const char* first, const char* p, const char* end, double& out) {
  constexpr std::ptrdiff_t k_safe_digits = 19;  // any so many fit 64 bits
  const char* const begin = p;
  std::uint64_t mantissa = 0;
  const bool short_whole =  // most losses: one digit before the point
      end - p > 1 && p[1] == '.' && static_cast<unsigned char>(*p - '0') < 10;
  if (short_whole) {
    mantissa = static_cast<std::uint64_t>(*p++ - '0');
  } else {
    p = core::decimal::read_digits(first, p, end, mantissa);
  }
  std::ptrdiff_t digits = p - begin;
  std::ptrdiff_t exponent = 0;
  if (p < end && *p == '.') {
    const char* const after = core::decimal::read_digits(first, p + 1, end, mantissa);
    exponent = p + 1 - after;
    digits -= exponent;
    p = after;
  }
  if (digits == 0) return begin;
  if (p < end && (*p == 'e' || *p == 'E')) p = core::decimal::read_exponent(p, end, exponent);
  if (digits > k_safe_digits || !core::decimal::nearest(mantissa, exponent, out))
    out = core::decimal::read_slowly(begin, p, mantissa, exponent);
  return p;
}

/// The number at the head of `text` as JSON and Python write it (a minus sign, digits, point,
/// exponent; no NaN), and how many characters it takes: 0 where there is none.
inline std::size_t read_decimal(std::string_view text, double& out) {
  const char* const begin = text.data();
  const bool negative = !text.empty() && *begin == '-';
  const char* const digits = begin + (negative ? 1 : 0);
  const char* const after = read_unsigned(begin, digits, begin + text.size(), out);
  if (after == digits) return 0;
  if (negative) out = -out;
  return static_cast<std::size_t>(after - begin);
}

}  // namespace aplomb::core

#include "core/decimal.h"

#include "core/text.h"

namespace aplomb::core::decimal {
namespace {

using Wide = unsigned __int128;

constexpr unsigned leading_zeros(Wide value) {
  unsigned zeros = 0;
  while ((value >> 127U) == 0) {
    value <<= 1U;
    ++zeros;
  }
  return zeros;
}

/// The first 128 bits of 1 / five by long division, one bit at a time, rounded up as the method
/// asks.
constexpr Wide reciprocal(Wide five) {
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
  return quotient + 1;
}

constexpr Power halves(Wide whole) {
  return {static_cast<std::uint64_t>(whole >> 64U), static_cast<std::uint64_t>(whole)};
}

constexpr std::array<Power, 2 * k_most_exponent + 1> make_powers() {
  std::array<Power, 2 * k_most_exponent + 1> powers{};
  Wide five = 1;
  for (int n = 0; n <= k_most_exponent; ++n, five *= 5) {
    powers[static_cast<std::size_t>(k_most_exponent + n)] = halves(five << leading_zeros(five));
    if (n > 0) powers[static_cast<std::size_t>(k_most_exponent - n)] = halves(reciprocal(five));
  }
  return powers;
}

/// Digits from the first that is not zero on.
std::ptrdiff_t significant_digits(const char* p, const char* end) {
  while (p < end && (*p == '0' || *p == '.')) ++p;
  std::ptrdiff_t digits = 0;
  for (; p < end && (is_digit(*p) || *p == '.'); ++p) digits += *p == '.' ? 0 : 1;
  return digits;
}

}  // namespace

constexpr std::array<Power, 2 * k_most_exponent + 1> k_powers = make_powers();

const char* read_exponent(const char* p, const char* end, std::ptrdiff_t& exponent) {
  constexpr std::ptrdiff_t k_beyond = 100000;  // of any double
  const char* q = p + 1;
  const bool negative = q < end && *q == '-';
  if (q < end && (*q == '-' || *q == '+')) ++q;
  if (q >= end || !is_digit(*q)) return p;
  std::ptrdiff_t value = 0;
  for (; q < end && is_digit(*q); ++q) {
    if (value < k_beyond) value = value * 10 + (*q - '0');
  }
  exponent += negative ? -value : value;
  return q;
}

double read_slowly(const char* begin, const char* end, std::uint64_t mantissa,
                   std::ptrdiff_t exponent) {
  constexpr std::ptrdiff_t k_safe_digits = 19;
  double value = 0;
  if (significant_digits(begin, end) <= k_safe_digits && nearest(mantissa, exponent, value))
    return value;
  return parse_number_prefix({begin, static_cast<std::size_t>(end - begin)}).value;
}

}  // namespace aplomb::core::decimal

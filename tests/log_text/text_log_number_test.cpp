#include "log_text/number.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace aplomb::log_text {
namespace {

Scanned scan(std::string_view text) { return scan_number(text); }

double exact(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(TextLogNumber, reads_what_trainers_print) {
  EXPECT_EQ(scan("2.3071,").value, 2.3071);
  EXPECT_EQ(scan("2.3071,").size, 6U);
  EXPECT_EQ(scan("-1.5e-05 ").value, -1.5e-05);
  EXPECT_EQ(scan(".5").value, 0.5);
  EXPECT_EQ(scan("3.").size, 2U);
  EXPECT_EQ(scan("1.249319E+01").value, 12.49319);
  EXPECT_EQ(scan("12e").size, 2U);
  EXPECT_EQ(scan("").size, 0U);
  EXPECT_EQ(scan("-").size, 0U);
  EXPECT_EQ(scan(".").size, 0U);
  EXPECT_EQ(scan("loss").size, 0U);
}

TEST(TextLogNumber, reads_not_a_number_in_every_spelling) {
  for (const char* text : {"nan", "NaN", "-nan", "-nan(ind)", "1.#QNAN", "-1.#IND00"}) {
    const Scanned found = scan(text);
    EXPECT_TRUE(std::isnan(found.value)) << text;
    EXPECT_EQ(found.size, std::string_view(text).size()) << text;
  }
  EXPECT_EQ(scan("-inf").value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(scan("Infinity").size, 8U);
  EXPECT_EQ(scan("1.#INF").value, std::numeric_limits<double>::infinity());
}

TEST(TextLogNumber, agrees_with_from_chars_to_the_last_bit) {
  std::mt19937_64 random(7);
  const auto check = [](const std::string& text) {
    const Scanned found = scan(text);
    ASSERT_EQ(found.size, text.size()) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(found.value), std::bit_cast<std::uint64_t>(exact(text)))
        << text;
  };
  for (int i = 0; i < 300000; ++i) {
    const double any = std::bit_cast<double>(random());
    if (std::isfinite(any) && any >= 0) check(fmt::format("{}", any));
    // The range of losses, norms and learning rates, with as many digits as Python prints.
    const double usual = std::ldexp(static_cast<double>(random() >> 11U), -40 - i % 60);
    check(fmt::format("{}", usual));
    check(fmt::format("{:.6f}", usual));
    // Mantissas of up to 20 digits and small exponents, half-way cases among them.
    check(fmt::format("{}e{}", random() >> (i % 40), i % 57 - 28));
    check(fmt::format("{}.{}", random() % 1000, random()));
    const std::uint64_t odd = (1ULL << 53U) + 2 * (random() >> 12U) + 1;  // ties to even
    check(fmt::format("{}", odd));
    check(fmt::format("{}.5", (1ULL << 52U) + (random() >> 12U)));
  }
}

TEST(TextLogNumber, reads_long_runs_of_digits) {
  const std::string zeros(400, '0');
  EXPECT_EQ(scan("0." + zeros + "1").value, 0);
  EXPECT_EQ(scan(zeros + "1").value, 1);
  EXPECT_EQ(scan("0.00019949993043107128").value, 0.00019949993043107128);
  EXPECT_EQ(scan("1" + zeros).value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(scan("123456789012345678901234567890").value, 123456789012345678901234567890.0);
}

TEST(TextLogNumber, knows_units) {
  EXPECT_DOUBLE_EQ(unit_of("ms")->factor, 1e-3);
  EXPECT_DOUBLE_EQ(unit_of("s/step")->factor, 1);
  EXPECT_EQ(unit_of("GiB")->dimension, Dimension::bytes);
  EXPECT_EQ(unit_of("%")->dimension, Dimension::percent);
  EXPECT_FALSE(unit_of("epoch"));
  EXPECT_FALSE(unit_of(""));
}

}  // namespace
}  // namespace aplomb::log_text

#include "core/decimal.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

namespace aplomb::core {
namespace {

TEST(ReadDecimal, IsAsExactAsTheStandardLibrary) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    if (i % 2 == 0) value = std::ldexp(value, 0) > 1e300 ? 1.5 : std::fmod(value, 1000.0);
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, value);
    double back = 0;
    const std::size_t taken =
        read_decimal({text, static_cast<std::size_t>(written.ptr - text)}, back);
    ASSERT_EQ(taken, static_cast<std::size_t>(written.ptr - text))
        << std::string(text, written.ptr);
    ASSERT_EQ(std::memcmp(&back, &value, sizeof value), 0) << std::string(text, written.ptr);
  }
}

TEST(ReadDecimal, RoundsAsTheStandardLibraryWhateverTheForm) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300000; ++i) {
    // Up to 22 digits with a point anywhere and any small exponent: halfway cases among them.
    std::string text;
    const std::size_t digits = 1 + random() % 22;
    const std::size_t point = random() % 24;
    for (std::size_t k = 0; k < digits; ++k) {
      if (k == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    if (random() % 2 == 0) text += "e" + std::to_string(static_cast<int>(random() % 60) - 30);
    double mine = 0;
    const std::size_t taken = read_decimal(text, mine);
    double theirs = 0;
    const auto done = std::from_chars(text.data(), text.data() + text.size(), theirs);
    ASSERT_EQ(taken, static_cast<std::size_t>(done.ptr - text.data())) << text;
    ASSERT_EQ(mine, theirs) << text;
  }
  for (const std::string text :
       {"9007199254740993", "9007199254740992.5", "1e", "1e+", "0.1e-5x", "5e-324", "1e309"}) {
    double mine = -1;
    double theirs = -1;
    const std::size_t taken = read_decimal(text, mine);
    const auto done = std::from_chars(text.data(), text.data() + text.size(), theirs);
    EXPECT_EQ(taken, static_cast<std::size_t>(done.ptr - text.data())) << text;
    if (done.ec == std::errc()) {
      EXPECT_EQ(mine, theirs) << text;
    }
  }
}

TEST(ReadDecimal, ReadsTheSameWithinALongText) {
  // Numbers in the middle of a line are read in wider pieces than those at its ends.
  std::mt19937_64 random(17);
  for (int i = 0; i < 200000; ++i) {
    std::string number;
    const std::size_t digits = 1 + random() % 40;
    const std::size_t point = random() % 42;
    for (std::size_t k = 0; k < digits; ++k) {
      if (k == point) number += '.';
      number += static_cast<char>('0' + random() % 10);
    }
    if (random() % 4 == 0) number += "e-07";
    const std::size_t before = random() % 24;
    std::string line(before, "9.x "[random() % 4]);
    line += number;
    line += ":/ ,"[random() % 4];  // `:` and `/` stand beside the digits in ASCII
    line.append(random() % 24, '7');
    double inside = 0;
    const char* const at = line.data() + before;
    const char* const after = read_unsigned(line.data(), at, line.data() + line.size(), inside);
    double alone = 0;
    ASSERT_EQ(read_decimal(number, alone), number.size()) << number;
    ASSERT_EQ(static_cast<std::size_t>(after - at), number.size()) << line;
    ASSERT_EQ(inside, alone) << line;
  }
}

TEST(ReadDecimal, RoundsAsTheCLibraryNextToTheMiddleOfTwoDoubles) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000; ++i) {
    // The middle between two doubles, written out in full, cut at 17 to 20 digits: the cases in
    // which the digits that were left out decide.
    const double low = std::ldexp(1.0 + static_cast<double>(random() >> 12U) * 0x1p-52,
                                  static_cast<int>(random() % 160) - 80);
    char text[256];
    const int size =
        std::snprintf(text, sizeof text, "%.*Le", 15 + static_cast<int>(random() % 5),
                      (static_cast<long double>(low) + std::nextafter(low, INFINITY)) / 2);
    double mine = 0;
    ASSERT_EQ(read_decimal({text, static_cast<std::size_t>(size)}, mine),
              static_cast<std::size_t>(size));
    const double theirs = std::strtod(text, nullptr);
    ASSERT_EQ(std::memcmp(&mine, &theirs, sizeof mine), 0) << text;
  }
}

TEST(ReadDecimal, ReadsNumbersWhereverTheyStandAndNeverBeyondTheText) {
  const std::string number = "-1234567.8901234e-05";
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t size = 0; size <= number.size(); ++size) {
      // Of its exact size, so that a sanitizer sees a byte too far.
      const std::string text = std::string(before, '7') + number.substr(0, size);
      const std::unique_ptr<char[]> exact(new char[text.size()]);
      std::memcpy(exact.get(), text.data(), text.size());
      const char* const begin = exact.get() + before + (size > 0 ? 1 : 0);
      const char* const end = exact.get() + text.size();
      double value = -1;
      const char* const after = read_unsigned(exact.get(), begin, end, value);
      double wanted = -1;
      const auto done = std::from_chars(begin, end, wanted);
      ASSERT_EQ(after, done.ptr) << text;
      ASSERT_EQ(value, wanted) << text;
    }
  }
}

}  // namespace
}  // namespace aplomb::core

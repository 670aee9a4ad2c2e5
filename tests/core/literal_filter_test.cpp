#include "core/literal_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace aplomb::core {
namespace {

using Hits = std::vector<std::pair<std::uint32_t, std::size_t>>;

Hits scan(const LiteralFilter& filter, std::string_view text) {
  Hits hits;
  filter.scan(text, [&](std::uint32_t owner, std::size_t at) { hits.emplace_back(owner, at); });
  return hits;
}

TEST(LiteralFilter, FindsALiteralAtEveryPositionOfALineInEitherCase) {
  LiteralFilter filter;
  ASSERT_TRUE(filter.add("Bus error", 3));
  ASSERT_TRUE(filter.add("Killed", 4));
  filter.build();
  for (std::size_t pad = 0; pad < 40; ++pad) {
    const std::string before(pad, '.');
    EXPECT_EQ(scan(filter, before + "bUS ERROR"), (Hits{{3, pad}})) << pad;
    EXPECT_EQ(scan(filter, before + "killed"), (Hits{{4, pad}})) << pad;
    EXPECT_EQ(scan(filter, before + "Killed and more"), (Hits{{4, pad}})) << pad;
  }
}

TEST(LiteralFilter, RefusesWhatIsTooShortToFilter) {
  LiteralFilter filter;
  EXPECT_FALSE(filter.add("tiny", 0));
  filter.build();
  EXPECT_TRUE(scan(filter, "tiny tiny tiny").empty());
}

TEST(LiteralFilter, SaysTheSameAsAPlainSearchOnRandomText) {
  const std::vector<std::string> literals = {"abcabc", "bcabca", "aaaaaaa", "cab cab",
                                             "abcabcabcabcabc"};
  LiteralFilter filter;
  for (std::uint32_t i = 0; i < literals.size(); ++i) filter.add(literals[i], i);
  filter.build();
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = "abc "[random() % 4];
    Hits expected;
    for (std::uint32_t i = 0; i < literals.size(); ++i) {
      for (std::size_t at = text.find(literals[i]); at != std::string::npos;
           at = text.find(literals[i], at + 1)) {
        expected.emplace_back(i, at);
      }
    }
    Hits found = scan(filter, text);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << text;
  }
}

}  // namespace
}  // namespace aplomb::core

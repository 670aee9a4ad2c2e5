#include "config_text/unpacked_names.h"

#include <gtest/gtest.h>

namespace aplomb::config_text {
namespace {

TEST(UnpackedNames, AreReadWithTheirPlaces) {
  const std::string_view line = "batch_size, lr, name = 16, 2e-3, 'adamw'  # as in the paper";
  const auto entries = unpacked_names(line, 7, 100);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[1].path, "lr");
  EXPECT_EQ(entries[1].text, "2e-3");
  EXPECT_EQ(entries[1].line, 7U);
  EXPECT_EQ(line.substr(entries[1].offset - 100, entries[1].size), "2e-3");
  EXPECT_EQ(entries[2].text, "adamw");
  EXPECT_TRUE(entries[2].quoted);
}

TEST(UnpackedNames, PassOverWhatIsComputed) {
  const auto entries = unpacked_names("steps, warmup = 300, steps // 10", 1, 0);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].path, "steps");
}

TEST(UnpackedNames, OtherLinesAreNone) {
  for (const std::string_view line :
       {"lr = 2e-3", "a, b = f(1, 2)", "for i, x in enumerate(y):", "self.a, self.b = 1, 2",
        "x, y = batch", "f(a, lr=1, b=2)", "a, b == 1, 2", "a, b = 1, 2, 3", ",=,", "=", ""}) {
    EXPECT_TRUE(unpacked_names(line, 1, 0).empty()) << line;
  }
}

}  // namespace
}  // namespace aplomb::config_text

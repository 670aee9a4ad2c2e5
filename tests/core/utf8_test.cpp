#include "core/utf8.h"

#include <gtest/gtest.h>

namespace aplomb::core {
namespace {

TEST(Utf8, TakesOneToFourBytes) {
  std::string out;
  for (const std::uint32_t code : {0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU})
    append_utf8(out, code);
  EXPECT_EQ(out,
            "\x7F"
            "\xC2\x80\xDF\xBF"
            "\xE0\xA0\x80\xEF\xBF\xBF"
            "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

}  // namespace
}  // namespace aplomb::core

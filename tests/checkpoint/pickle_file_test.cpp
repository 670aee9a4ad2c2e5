#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

TEST(PickleFile, OfProtocolZeroIsReadThoughItHasNoMark) {
  const test::TempFolder folder;
  const auto checkpoint =
      open_checkpoint(folder.write("scheduler.pt", "(dp0\nVlast_epoch\np1\nI12\ns."));
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 12);
  EXPECT_EQ(checkpoint->files.at(0).format, "pickle");
}

TEST(PickleFile, WhatIsNoneOfAnybodysIsRefusedWithAReason) {
  const test::TempFolder folder;
  const auto checkpoint = open_checkpoint(folder.write("model.pt", "GIF89a and so on"));
  ASSERT_FALSE(checkpoint.has_value());
  EXPECT_THAT(checkpoint.error().text, HasSubstr("model.pt"));
}

}  // namespace
}  // namespace aplomb::checkpoint

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

TEST(PickleFile, OfProtocolZeroIsReadThoughItHasNoMark) {
  const test::Folder folder;
  const auto checkpoint =
      open_checkpoint(folder.write("scheduler.pt", "(dp0\nVlast_epoch\np1\nI12\ns."));
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 12);
  EXPECT_EQ(checkpoint->files.at(0).format, "pickle");
}

TEST(PickleFile, WhatIsNoneOfAnybodysIsUnreadableAndNotCalledSafe) {
  const test::Folder folder;
  const auto checkpoint = open_checkpoint(folder.write("model.pt", "GIF89a and so on"));
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  EXPECT_FALSE(checkpoint->files.at(0).readable);
  ASSERT_EQ(checkpoint->findings.size(), 2U);
  EXPECT_EQ(checkpoint->findings[0].kind, "checkpoint.unreadable");
  EXPECT_THAT(checkpoint->findings[0].text, HasSubstr("model.pt"));
  EXPECT_EQ(checkpoint->findings[1].kind, "pickle.inconclusive");
}

}  // namespace
}  // namespace aplomb::checkpoint

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

TEST(Hdf5, IsNamedAndNotRead) {
  const test::Folder folder;
  for (const char* name : {"model.ckpt", "pytorch_model.bin"}) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(folder.write(name, "\x89HDF\r\n\x1a\n and so on"));
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().code, core::ErrorCode::unsupported);
    EXPECT_THAT(checkpoint.error().text, HasSubstr("HDF5"));
  }
}

}  // namespace
}  // namespace aplomb::checkpoint

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;

TEST(LfsPointer, IsToldFromTheFileThatItStandsFor) {
  const test::Folder folder;
  for (const char* name : {"model.safetensors", "pytorch_model.bin", "model.gguf"}) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(
        folder.write(name,
                     "version https://git-lfs.github.com/spec/v1\n"
                     "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\nsize 12345\n"));
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().code, core::ErrorCode::unsupported);
    EXPECT_THAT(checkpoint.error().text, HasSubstr("git lfs pull"));
  }
}

}  // namespace
}  // namespace aplomb::checkpoint

// What torch itself writes: fixtures_test.cpp. What is made to hurt: hostile_test.cpp.

#include "checkpoint/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "core/folder.h"
#include "made_torch.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

std::string archive() {
  return test::zip({{"a/data.pkl", test::state_dict(2)}, {"a/data/0", test::raw<float>({1, 2})}});
}

TEST(TorchFile, IsKnownByItsFirstBytesAndReadUnderAnyName) {
  const std::string bytes = archive();
  EXPECT_TRUE(looks_like_torch(test::as_bytes(bytes)));
  const test::Folder folder;
  for (const char* name : {"pytorch_model.bin", "last.ckpt", "weights"}) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(folder.write(name, bytes));
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    ASSERT_EQ(checkpoint->tensors.size(), 1U);
    EXPECT_EQ(checkpoint->tensors[0].name, "w");
    EXPECT_EQ(tensors::scan_tensor(checkpoint->tensors[0])->sum, 3);
    EXPECT_EQ(checkpoint->files.at(0).format, "torch-zip");
    EXPECT_TRUE(checkpoint->in_model_order);
  }
}

TEST(TorchFile, UnderTheNameOfAnotherFormatIsNotThatFormat) {
  const test::Folder folder;
  const auto checkpoint = open_checkpoint(folder.write("model.safetensors", archive()));
  ASSERT_FALSE(checkpoint.has_value());
  EXPECT_THAT(checkpoint.error().text, HasSubstr("safetensors"));
}

TEST(TorchFile, TheSchedulersStateIsTakenByItsRole) {
  const test::Folder folder;
  const std::string path =
      folder.write("scheduler.pt",
                   "\x80\x02}(X\x0a\0\0\0last_epochK\7X\x08\0\0\0_last_lr]G?PbM\xd2\xf1\xa9\xfc"
                   "au."s);
  const auto checkpoint = open_checkpoint(path);
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
  EXPECT_EQ(checkpoint->scheduler.at("last_epoch"), 7);
  EXPECT_DOUBLE_EQ(checkpoint->scheduler.at("last_lr"), 0.001);
  EXPECT_EQ(checkpoint->files.at(0).role, FileRole::scheduler);
}

}  // namespace
}  // namespace aplomb::checkpoint

// Git LFS's pointers: what a clone without LFS has in place of a large file.
//
//     version https://git-lfs.github.com/spec/v1
//     oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
//     size 12345

#include "checkpoint/checkpoint_format.h"

namespace aplomb::checkpoint {
namespace {

class LfsPointer final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    return file.text().starts_with("version https://git-lfs");
  }
  std::string read(const StoredFile& file, Opening& opening) const override {
    opening.refuse(file.path, "is a Git LFS pointer, not the file itself; run git lfs pull");
    return {};
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_lfs_pointer_format() {
  return std::make_unique<LfsPointer>();
}

}  // namespace aplomb::checkpoint

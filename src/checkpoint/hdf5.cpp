// HDF5 (`\x89HDF\r\n\x1a\n` at the front): Keras's weights. Known, so that it can be said that they
// are not read.

#include "checkpoint/checkpoint_format.h"

namespace aplomb::checkpoint {
namespace {

class Hdf5 final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override { return file.text().starts_with("\x89HDF"); }
  std::string read(const StoredFile& file, Opening& opening) const override {
    opening.refuse(file.path, "is HDF5 (Keras), which is not read");
    return {};
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_hdf5_format() { return std::make_unique<Hdf5>(); }

}  // namespace aplomb::checkpoint

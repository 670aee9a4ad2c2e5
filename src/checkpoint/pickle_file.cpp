// Files that no other format takes, read as a pickle: protocols 0 and 1 begin with no mark, and a
// file that is none of anybody's is said to be none of these either.
//
//     (dp0\nVlr\np1\nF0.001\ns.            {"lr": 0.001} of protocol 0

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/torch_state.h"

namespace aplomb::checkpoint {
namespace {

class PickleFile final : public CheckpointFormat {
 public:
  bool takes(const StoredFile&) const override { return true; }
  std::string read(const StoredFile& file, Opening& opening) const override {
    return read_torch_state(file, opening);
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_pickle_file_format() {
  return std::make_unique<PickleFile>();
}

}  // namespace aplomb::checkpoint

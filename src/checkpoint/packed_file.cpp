// Pickles that were packed as a whole (model.joblib.gz, frame.pkl.xz: joblib, pandas, users),
// unpacked in memory and read as any other.

#include <fmt/format.h>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/torch_file.h"
#include "checkpoint/torch_state.h"
#include "core/text.h"
#include "pickle/unpack.h"
#include "pickle/zip_archive.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_most_unpacked = std::uint64_t{1} << 30U;

class PackedFile final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    return pickle::packed_with(file.text()) != nullptr;
  }

  std::string read(const StoredFile& file, Opening& opening) const override {
    const char* way = pickle::packed_with(file.text());
    std::string unpacked;
    if (!pickle::unpack(file.text(), k_most_unpacked, unpacked)) {
      opening.refuse(file.path, fmt::format("is packed with {}, and damaged or more than {}", way,
                                            core::show_bytes(k_most_unpacked)));
      return {};
    }
    const auto kept = std::make_shared<const std::string>(std::move(unpacked));
    const auto bytes = std::as_bytes(std::span(kept->data(), kept->size()));
    if (pickle::looks_like_zip(bytes) || kept->starts_with("\x93NUMPY")) {
      opening.refuse(file.path, fmt::format("is no pickle that was packed, but an archive or array "
                                            "packed with {}; unpack it once and read that",
                                            way));
      return {};
    }
    auto read = read_torch(bytes, kept, file.path, false);
    if (!read) {
      opening.unreadable(file.path, read.error());
      return {};
    }
    for (tensors::Tensor& each : read->tensors) each.mapped = false;
    take_torch_state(file, *read, opening);
    return fmt::format("{}, packed with {}", read->format, way);
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_packed_file_format() {
  return std::make_unique<PackedFile>();
}

}  // namespace aplomb::checkpoint

/// Fuzzes the checkpoint readers: the bytes as safetensors, as a torch archive or pickle, and as an
/// index of shards. Whatever tensors come out are read to their ends.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "checkpoint/optimizer_state.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"

namespace {

using namespace aplomb;

void read_through(const Tensor& original) {
  Tensor tensor = original;
  tensor.mapped = false;                       // the fuzzer's bytes are no file mapping
  constexpr std::uint64_t k_most = 1U << 20U;  // a stride of 0 may stand for any number of elements
  if (tensor.count <= k_most) scan_tensor(tensor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto file = read_safetensors(bytes, nullptr, "fuzz")) {
    for (const Tensor& tensor : file->tensors) read_through(tensor);
  }
  if (const auto file = read_torch(bytes, nullptr, "fuzz")) {
    for (const Tensor& tensor : file->tensors) read_through(tensor);
    visit_tensors(file->document, file->document.root, [](const std::string&, std::size_t) {});
    const auto state = read_optimizers(*file, find_optimizers(file->document));
    if (state) {
      for (const Tensor& tensor : state->tensors) read_through(tensor);
    }
  }
  if (size < 4096) (void)read_shard_index(text, "fuzz");
  return 0;
}

/// Fuzzes the checkpoint readers and the audit of pickles, by the target's name: the bytes as one file of the
/// format, or, for formats of several files, as the files of a folder, each behind its length in
/// two bytes. Whatever tensors come out are read to their ends.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"
#include "checkpoint/optimizer_state.h"
#include "checkpoint/pickle_walk.h"
#include "checkpoint/precision.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"
#include "pickle/pickle_audit.h"
#include "target_name.h"

namespace {

using namespace aplomb;
namespace fs = std::filesystem;

using Bytes = std::span<const std::byte>;

std::string_view text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_through(const tensors::Tensor& original) {
  tensors::Tensor tensor = original;
  tensor.mapped = false;                       // the fuzzer's bytes are no file mapping
  constexpr std::uint64_t k_most = 1U << 20U;  // a stride of 0 may stand for any number of elements
  if (tensor.count <= k_most) tensors::scan_tensor(tensor);
}

void read_as_torch(Bytes bytes) {
  const auto file = checkpoint::read_torch(bytes, nullptr, "fuzz");
  if (!file) return;
  for (const tensors::Tensor& tensor : file->tensors) read_through(tensor);
  checkpoint::visit_tensors(file->document, file->document.root,
                            [](const std::string&, std::size_t) {});
  const auto state =
      checkpoint::read_optimizers(*file, checkpoint::find_optimizers(file->document));
  if (!state) return;
  for (const tensors::Tensor& tensor : state->tensors) read_through(tensor);
}

std::string folder_of_process() {
  return fs::temp_directory_path() / ("aplomb-fuzz-" + std::to_string(::getpid()));
}

/// Writes the pieces as these files and opens the folder.
void read_folder(Bytes bytes, const std::vector<std::string>& names) {
  const fs::path folder = folder_of_process();
  fs::create_directories(folder);
  for (const std::string& name : names) {
    std::size_t size = 0;
    if (bytes.size() >= 2) {
      size = std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1]) << 8U;
      bytes = bytes.subspan(2);
    }
    const Bytes piece = bytes.first(std::min(size, bytes.size()));
    bytes = bytes.subspan(piece.size());
    std::ofstream(folder / name, std::ios::binary) << text(piece);
  }
  const auto checkpoint = checkpoint::open_checkpoint(folder.string());
  if (!checkpoint) return;
  for (const tensors::Tensor& tensor : checkpoint->tensors) read_through(tensor);
  if (!checkpoint->optimizer) return;
  for (const tensors::Tensor& tensor : checkpoint->optimizer->tensors) read_through(tensor);
}

void safetensors(Bytes bytes) {
  if (const auto file = checkpoint::read_safetensors(bytes, nullptr, "fuzz")) {
    for (const tensors::Tensor& tensor : file->tensors) read_through(tensor);
  }
  if (bytes.size() < 4096) (void)checkpoint::read_shard_index(text(bytes), "fuzz");
}

void torch_zip(Bytes bytes) { read_as_torch(bytes); }
void torch_pickle(Bytes bytes) { read_as_torch(bytes); }

void gguf(Bytes bytes) {
  if (const auto file = checkpoint::read_gguf(bytes, nullptr, "fuzz")) {
    for (const tensors::Tensor& tensor : file->tensors) read_through(tensor);
  }
}

void dcp(Bytes bytes) { read_folder(bytes, {".metadata", "__0_0.distcp"}); }

void zero(Bytes bytes) {
  read_folder(bytes, {"mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                      "zero_pp_rank_1_mp_rank_00_optim_states.pt"});
}

void ranks(Bytes bytes) {
  read_folder(bytes, {"pytorch_model_fsdp_0_rank0.bin", "pytorch_model_fsdp_0_rank1.bin",
                      "optimizer_0_rank0.bin", "shard-00001-model-00001-of-00001.safetensors"});
}

void numpy(Bytes bytes) { read_folder(bytes, {"arrays.npz", "one.npy"}); }

void packed(Bytes bytes) { read_folder(bytes, {"model.pkl.gz"}); }

void pickles(Bytes bytes) {
  const tensors::Findings findings = pickle::audit_pickles(bytes, "model.pt");
  for (const tensors::Finding& finding : findings.list()) {
    if (finding.text.size() > 4096) std::abort();  // it reaches terminals: it must be bounded
  }
}

using Fuzzed = void (*)(Bytes);

Fuzzed the_format() {
  static const std::map<std::string_view, Fuzzed> formats = {{"safetensors", safetensors},
                                                             {"torch_zip", torch_zip},
                                                             {"torch_pickle", torch_pickle},
                                                             {"gguf", gguf},
                                                             {"dcp", dcp},
                                                             {"zero", zero},
                                                             {"ranks", ranks},
                                                             {"numpy", numpy},
                                                             {"packed", packed},
                                                             {"pickles", pickles}};
  std::string_view name = fuzz::target_name();
  constexpr std::string_view k_prefix = "checkpoint_";
  if (!name.starts_with(k_prefix)) std::abort();
  return formats.at(name.substr(k_prefix.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fuzzed read = the_format();
  read(Bytes(reinterpret_cast<const std::byte*>(data), size));
  return 0;
}

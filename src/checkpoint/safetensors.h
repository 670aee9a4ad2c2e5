#pragma once
/// Reads the safetensors format: 8 bytes of little-endian header length, a JSON header, raw
/// tensors.
///
///     {"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}}
///
/// Held to the rules of the format (github.com/huggingface/safetensors): a header of at most
/// 100 MB, offsets relative to the end of the header, no holes, no overlap, no duplicate name, byte
/// counts that fit dtype and shape. A tensor that breaks them becomes a Finding; the others are
/// read.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensors/finding.h"
#include "tensors/mapped_file.h"
#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct SafetensorsFile {
  std::vector<tensors::Tensor> tensors;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
  tensors::Findings findings;
};

/// Whether a file starts like safetensors: a plausible header length and a `{`.
bool looks_like_safetensors(std::span<const std::byte> bytes);

/// Errors: bad_format (no header that could be read at all), too_large.
core::Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes,
                                               const std::shared_ptr<const void>& owner,
                                               const std::string& path);

/// Whether a file's name in an index of shards would lead out of its folder, or is none.
bool leaves_folder(std::string_view name);

/// The shards that a `*.safetensors.index.json` (or `pytorch_model.bin.index.json`) names. Names
/// that leave the folder (a slash, `..`) become a Finding and are not opened.
struct ShardIndex {
  std::vector<std::string> files;             ///< names inside the folder, each once, sorted
  std::map<std::string, std::string> places;  ///< tensor -> file
  tensors::Findings findings;
};
core::Result<ShardIndex> read_shard_index(std::string_view json, const std::string& path);

}  // namespace aplomb::checkpoint

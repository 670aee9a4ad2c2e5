#pragma once
/// Weights of a checkpoint in another number format: bf16 or fp16 to fp32 masters, and back.
///
///     auto done = convert_checkpoint("out/checkpoint-400", "out/checkpoint-400-fp32",
///                                    {numerics::Format::fp32});
///
/// Reads safetensors: one file, or a folder with one, with shards and their index, or with an
/// adapter. Of a folder everything else is copied as it is, but for the dtype that config.json
/// states, so that a run can be resumed from the new one. Tensors of other types than fp32, bf16 and
/// fp16 stay as they are. To fp32 is exact; back rounds to nearest, ties to even, and refuses values
/// that the format cannot hold.
///
/// Files are read and written in parts: memory does not grow with them. Each output is written
/// beside its name and gets it when all of them are whole; nothing that is there is replaced.

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "numerics/format.h"

namespace aplomb::checkpoint {

struct ConvertOptions {
  numerics::Format to = numerics::Format::fp32;  ///< fp32, bf16 or fp16
};

struct Converted {
  std::size_t weight_files = 0;
  std::size_t tensors = 0;  ///< of the new format now
  std::size_t left = 0;     ///< tensors that stay as they are
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  std::uint64_t vanished = 0;         ///< values that became zero, too small for the format
  std::size_t copied = 0;             ///< other files
  std::vector<std::string> left_out;  ///< files that were not: other weights, links out
};

/// Errors: not_found, bad_usage (the output is, lies in, or would replace something that is there),
/// unsupported (no safetensors, with what to do), bad_format (damaged), too_large (a value beyond
/// the format), not_writable.
core::Result<Converted> convert_checkpoint(const std::string& in, const std::string& out,
                                           const ConvertOptions& options);

/// Nearest value of the format as its bits, ties to even; beyond the largest one infinity.
std::uint16_t bf16_of(float value);
std::uint16_t fp16_of(float value);

}  // namespace aplomb::checkpoint

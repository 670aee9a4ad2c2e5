#pragma once
/// Reads GGUF (llama.cpp): a header of typed keys, a table of tensors, their data. Plain types are
/// read as such; blocks of quantised types are sized, and their scales can be scanned.
///
/// Layout: github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
/// Dimensions are stored with the fastest first; shapes here are row-major as everywhere else.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "tensors/finding.h"
#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct GgufFile {
  std::vector<tensors::Tensor> tensors;
  std::string architecture;  ///< `general.architecture`
  tensors::Findings findings;
};

bool looks_like_gguf(std::span<const std::byte> bytes);

/// Errors: bad_format (a header that cannot be read), unsupported (version 1, big-endian).
core::Result<GgufFile> read_gguf(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, const std::string& path);

}  // namespace aplomb::checkpoint

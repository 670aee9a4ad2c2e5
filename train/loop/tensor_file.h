#pragma once
/// Named tensors as one safetensors file, and back into tensors that exist.
///
/// Every bit is kept. The file is written whole and synced before the call returns; a full disk is
/// an Error.

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/loop/optimizer.h"

namespace aplomb::train::loop {

/// What a file says of itself, by key, in `__metadata__`.
using FileMetadata = std::vector<std::pair<std::string, std::string>>;

/// Tensors may lie on any device; they are copied one by one, so no second copy of all is held.
core::Result<void> save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                                const FileMetadata& metadata = {{"format", "pt"}});

/// Copies the file's tensors into `into`, by name. Fails, with nothing copied, where one is missing
/// or has another shape or type; tensors that the file has more are an Error, too.
core::Result<void> load_tensors(const std::string& path, const std::vector<NamedTensor>& into);

}  // namespace aplomb::train::loop

#pragma once
/// Reads torch's distributed checkpoints (torch.distributed.checkpoint; FSDP's sharded state dicts,
/// torchtitan, accelerate): `.metadata`, a pickle that says which chunk of which tensor lies where,
/// and `*.distcp` files in which every chunk is an archive of torch.save.

#include <string>

#include "checkpoint/open_file.h"

namespace aplomb::checkpoint {

constexpr const char* k_dcp_index = ".metadata";

/// Chunks that are missing, lie beyond their file or outside the folder become Findings.
void open_dcp(Opening& opening, const std::string& folder);

}  // namespace aplomb::checkpoint

#pragma once
/// What a file of torch.save means in a checkpoint, by its role: weights, optimizer, scheduler,
/// loss scale, random states; single files that hold all of them.
///
///     {"state_dict": {"model.norm.weight": tensor, ...}, "optimizer_states": [...],
///      "global_step": 500, "epoch": 1}

#include <string>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/torch_file.h"

namespace aplomb::checkpoint {

/// As CheckpointFormat::read.
std::string read_torch_state(const StoredFile& file, Opening& opening);

/// The same of one that has been read.
void take_torch_state(const StoredFile& file, const TorchFile& read, Opening& opening);

}  // namespace aplomb::checkpoint

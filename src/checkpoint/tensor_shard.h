#pragma once
/// TensorShard: what a rank's part of a tensor knows of the whole, and the whole put together from
/// the parts of all ranks. Three writers leave such parts:
///
///     DTensor          torch.save of a sharded model by each rank: shape, placements, coordinates
///     ShardedTensor    the same of FSDP 1: shape and the part's offset
///     safetensors      `DCP_SHARDING_INFO` in the metadata: the part's offset only

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pickle/pickle.h"
#include "tensors/tensor.h"

namespace aplomb::checkpoint {

using tensors::TensorShard;

/// Whether a file's name says that each rank left one of it: `optimizer_0_rank3.bin`.
bool is_rank_file(std::string_view name);

/// The size that a tensor subclass shows (class, dtype, size, ... are what it is rebuilt from).
std::optional<std::vector<std::int64_t>> wrapper_size(const pickle::PickleDocument& document,
                                                      const pickle::PickleNode& node);

/// The local tensor of a DTensor or ShardedTensor: its index; nothing for any other node.
std::optional<pickle::NodeId> local_tensor(const pickle::PickleDocument& document,
                                           const pickle::PickleNode& node);

/// What the pickle says of its tensors that are parts, by the tensor's index.
std::unordered_map<std::size_t, TensorShard> find_shards(const pickle::PickleDocument& document);

/// `DCP_SHARDING_INFO`: {"name": {"saved_offsets": [0, 5]}, ...}; empty where it is of no use.
std::unordered_map<std::string, TensorShard> read_sharding_info(std::string_view json);

/// The whole tensor. Parts that stand twice (replicas) are taken once. Without data, and with the
/// reason in `why`, where they do not make up the whole.
tensors::Tensor join_shards(std::vector<tensors::Tensor> parts, std::string& why);

}  // namespace aplomb::checkpoint

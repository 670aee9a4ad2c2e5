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

#include "checkpoint/pickle.h"
#include "checkpoint/tensor.h"

namespace aplomb {

struct TensorShard {
  /// One axis of the device mesh.
  struct Cut {
    int axis = -1;  ///< of the tensor; -1: every rank along this mesh axis holds the same
    /// Cut within what the later mesh axes leave (`_StridedShard`: FSDP over tensor parallelism).
    bool strided = false;
    std::int64_t coordinate = 0;  ///< of this rank
  };
  std::optional<std::vector<std::int64_t>> shape;   ///< of the whole, where the part states it
  std::optional<std::vector<std::int64_t>> offset;  ///< of this part, where it states it
  std::vector<Cut> cuts;                            ///< says the offset elsewhere
};

/// Whether a file's name says that each rank left one of it: `optimizer_0_rank3.bin`.
bool is_rank_file(std::string_view name);

/// The size that a tensor subclass shows (class, dtype, size, ... are what it is rebuilt from).
std::optional<std::vector<std::int64_t>> wrapper_size(const PickleDocument& document,
                                                      const PickleNode& node);

/// The local tensor of a DTensor or ShardedTensor: its index; nothing for any other node.
std::optional<NodeId> local_tensor(const PickleDocument& document, const PickleNode& node);

/// What the pickle says of its tensors that are parts, by the tensor's index.
std::unordered_map<std::size_t, TensorShard> find_shards(const PickleDocument& document);

/// `DCP_SHARDING_INFO`: {"name": {"saved_offsets": [0, 5]}, ...}; empty where it is of no use.
std::unordered_map<std::string, TensorShard> read_sharding_info(std::string_view json);

/// The whole tensor. Parts that stand twice (replicas) are taken once. Without data, and with the
/// reason in `why`, where they do not make up the whole.
Tensor join_shards(std::vector<Tensor> parts, std::string& why);

}  // namespace aplomb

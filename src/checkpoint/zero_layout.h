#pragma once
/// Where ZeRO's shards keep what: flat tensors laid end to end, and the places of their pickles.
/// Internal to zero_shards.cpp.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/tensor_pieces.h"
#include "checkpoint/torch_file.h"

namespace aplomb::checkpoint {

/// One file of one rank.
struct Shard {
  std::size_t rank = 0;
  std::string path;
  std::size_t file = 0;  ///< index into Checkpoint::files
  TorchFile torch;
};

/// Flat tensors end to end.
using Line = std::vector<tensors::Tensor>;

std::uint64_t length(const Line& line);

/// Adds the pieces of a flat tensor that are line[from, from + count), laid at `at`.
void cut(const Line& line, std::uint64_t from, std::uint64_t count, std::uint64_t at,
         std::vector<TensorPiece>& out);

/// A parameter as the model's shard describes it.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;
  std::size_t group = 0;
  std::uint64_t padding = 0;  ///< elements behind it that belong to none (stages 1, 2)
};

/// The optimizer's part of an optimizer shard.
const pickle::PickleNode& optimizer_of(const Shard& shard);
/// Adds the tensor that a node stands for; nothing where it stands for none.
void add_tensor(const Shard& shard, const pickle::PickleNode* node, Line& line);
/// The entry of a list, or of a dict with integer keys; null where there is none.
const pickle::PickleNode* at_key(const pickle::PickleDocument& document,
                                 const pickle::PickleNode* dict, std::size_t key);
/// The state that a rank keeps for its flat tensor `group`; null where there is none.
const pickle::PickleNode* state_at(const Shard& shard, std::size_t group);

}  // namespace aplomb::checkpoint

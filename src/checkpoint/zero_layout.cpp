#include "checkpoint/zero_layout.h"

#include <algorithm>

namespace aplomb::checkpoint {

std::uint64_t length(const Line& line) {
  std::uint64_t sum = 0;
  for (const tensors::Tensor& each : line) sum += each.count;
  return sum;
}

void cut(const Line& line, std::uint64_t from, std::uint64_t count, std::uint64_t at,
         std::vector<TensorPiece>& out) {
  for (const tensors::Tensor& part : line) {
    if (count == 0) return;
    if (from >= part.count) {
      from -= part.count;
      continue;
    }
    const std::uint64_t taken = std::min(count, part.count - from);
    out.push_back(
        {{static_cast<std::int64_t>(at)}, {static_cast<std::int64_t>(taken)}, part, from});
    from = 0;
    count -= taken;
    at += taken;
  }
}

const pickle::PickleNode& optimizer_of(const Shard& shard) {
  const pickle::PickleDocument& document = shard.torch.document;
  const pickle::PickleNode* found =
      document.find(document.at(document.root), "optimizer_state_dict");
  return found == nullptr ? document.at(document.root) : *found;
}

void add_tensor(const Shard& shard, const pickle::PickleNode* node, Line& line) {
  if (node == nullptr || node->kind != pickle::PickleKind::tensor) return;
  line.push_back(shard.torch.tensors[static_cast<std::size_t>(node->number)]);
  line.back().file = shard.file;
}

const pickle::PickleNode* at_key(const pickle::PickleDocument& document,
                                 const pickle::PickleNode* dict, std::size_t key) {
  if (dict == nullptr) return nullptr;
  if (dict->kind == pickle::PickleKind::list) {
    return key < dict->items.size() ? &document.at(dict->items[key]) : nullptr;
  }
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const pickle::PickleNode& name = document.at(dict->items[i]);
    if (name.kind == pickle::PickleKind::integer && name.number == static_cast<std::int64_t>(key)) {
      return &document.at(dict->items[i + 1]);
    }
  }
  return nullptr;
}

const pickle::PickleNode* state_at(const Shard& shard, std::size_t group) {
  const pickle::PickleDocument& document = shard.torch.document;
  const pickle::PickleNode& own = optimizer_of(shard);
  const pickle::PickleNode* base = document.find(own, "base_optimizer_state");
  if (base == nullptr) base = document.find(own, "optimizer_state_dict");
  if (base == nullptr) return nullptr;
  const pickle::PickleNode* states =
      base->kind == pickle::PickleKind::dict ? document.find(*base, "state") : base;
  return at_key(document, states, group);
}

}  // namespace aplomb::checkpoint

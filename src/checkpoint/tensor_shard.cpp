#include "checkpoint/tensor_shard.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "checkpoint/tensor_pieces.h"

namespace aplomb::checkpoint {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t k_most_axes = 64;
constexpr std::size_t k_most_attributes = 128;  // looked through for every part anew

/// An attribute of an object: of its state, or of the slots beside an empty one.
const pickle::PickleNode* attribute(const pickle::PickleDocument& document,
                                    const pickle::PickleNode& node, std::string_view key) {
  if (node.kind != pickle::PickleKind::object || node.items.size() < 3) return nullptr;
  const pickle::PickleNode* state = &document.at(node.items[2]);
  if (state->kind == pickle::PickleKind::tuple && state->items.size() == 2) {
    state = &document.at(state->items[1]);
  }
  return state->items.size() > 2 * k_most_attributes ? nullptr : document.find(*state, key);
}

std::optional<Numbers> numbers_of(const pickle::PickleDocument& document,
                                  const pickle::PickleNode* node) {
  const bool list = node != nullptr && (node->kind == pickle::PickleKind::list ||
                                        node->kind == pickle::PickleKind::tuple);
  if (!list || node->items.size() > k_most_axes) return std::nullopt;
  Numbers numbers;
  for (const pickle::NodeId id : node->items) {
    if (document.at(id).kind != pickle::PickleKind::integer) return std::nullopt;
    numbers.push_back(document.at(id).number);
  }
  return numbers;
}

/// The first of a ShardedTensor's local shards: ([Shard(tensor, metadata), ...], metadata, ...).
const pickle::PickleNode* first_shard(const pickle::PickleDocument& document,
                                      const pickle::PickleNode& node) {
  if (node.kind != pickle::PickleKind::object || node.items.size() < 3) return nullptr;
  if (!node.text.ends_with(".ShardedTensor")) return nullptr;
  const pickle::PickleNode& state = document.at(node.items[2]);
  if (state.kind != pickle::PickleKind::tuple || state.items.empty()) return nullptr;
  const pickle::PickleNode& shards = document.at(state.items[0]);
  return shards.kind == pickle::PickleKind::list && !shards.items.empty()
             ? &document.at(shards.items[0])
             : nullptr;
}

std::optional<TensorShard> shard_of_dtensor(const pickle::PickleDocument& document,
                                            const pickle::PickleNode& node) {
  const pickle::PickleNode* spec = attribute(document, node, "_spec");
  const pickle::PickleNode* mesh = spec == nullptr ? nullptr : attribute(document, *spec, "mesh");
  const pickle::PickleNode* placed =
      spec == nullptr ? nullptr : attribute(document, *spec, "placements");
  if (mesh == nullptr || placed == nullptr) return std::nullopt;
  const auto at = numbers_of(document, attribute(document, *mesh, "_coordinate_on_dim"));
  TensorShard shard;
  shard.shape = wrapper_size(document, node);
  const bool list =
      placed->kind == pickle::PickleKind::tuple || placed->kind == pickle::PickleKind::list;
  if (!at || !shard.shape || !list || at->size() != placed->items.size()) return std::nullopt;
  for (std::size_t i = 0; i < at->size(); ++i) {
    const pickle::PickleNode& placement = document.at(placed->items[i]);
    TensorShard::Cut cut;
    cut.coordinate = (*at)[i];
    cut.strided = placement.text.ends_with("._StridedShard");
    if (cut.strided || placement.text.ends_with(".Shard")) {
      const pickle::PickleNode* axis = attribute(document, placement, "dim");
      if (axis == nullptr || axis->number < 0 ||
          axis->number >= static_cast<std::int64_t>(shard.shape->size())) {
        return std::nullopt;
      }
      cut.axis = static_cast<int>(axis->number);
    }
    shard.cuts.push_back(cut);
  }
  return shard;
}

std::optional<TensorShard> shard_of_sharded(const pickle::PickleDocument& document,
                                            const pickle::PickleNode& node) {
  const pickle::PickleNode* first = first_shard(document, node);
  const pickle::PickleNode* about =
      first == nullptr ? nullptr : attribute(document, *first, "metadata");
  if (about == nullptr) return std::nullopt;
  TensorShard shard;
  shard.shape = wrapper_size(document, node);
  shard.offset = numbers_of(document, attribute(document, *about, "shard_offsets"));
  return shard.shape && shard.offset ? std::optional(shard) : std::nullopt;
}

/// How many ranks lie along each axis of the mesh: the farthest coordinate of those that are here.
Numbers mesh_of(const std::vector<tensors::Tensor>& parts) {
  Numbers mesh;
  for (const tensors::Tensor& part : parts) {
    const auto& cuts = part.shard->cuts;
    mesh.resize(std::max(mesh.size(), cuts.size()), 1);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      mesh[i] = std::max(mesh[i], cuts[i].coordinate + 1);
    }
  }
  return mesh;
}

/// torch.chunk's rule: parts of ceil(extent / ranks), the last ones shorter or empty.
struct Part {
  Numbers offset, size;
};
void cut(Part& part, const TensorShard::Cut& how, std::int64_t ranks) {
  if (how.axis < 0) return;
  const auto axis = static_cast<std::size_t>(how.axis);
  const std::int64_t extent = part.size[axis];
  const std::int64_t chunk = extent / ranks + (extent % ranks != 0 ? 1 : 0);
  const std::int64_t begin = chunk == 0 || how.coordinate >= (extent + chunk - 1) / chunk
                                 ? extent
                                 : how.coordinate * chunk;
  part.offset[axis] += begin;
  part.size[axis] = std::min(chunk, extent - begin);
}

Part place_of(const TensorShard& shard, const Numbers& shape, const Numbers& mesh) {
  Part part{Numbers(shape.size(), 0), shape};
  for (const bool strided : {false, true}) {
    for (std::size_t i = 0; i < shard.cuts.size(); ++i) {
      if (shard.cuts[i].strided == strided && shard.cuts[i].coordinate >= 0) {
        cut(part, shard.cuts[i], mesh[i]);
      }
    }
  }
  return part;
}

/// What the parts state, or where the farthest of them ends.
Numbers whole_shape(const std::vector<tensors::Tensor>& parts) {
  Numbers reach(parts.front().shape.size(), 0);
  for (const tensors::Tensor& part : parts) {
    if (part.shard->shape) return *part.shard->shape;
    const auto& offset = part.shard->offset;
    for (std::size_t i = 0; offset && i < std::min(reach.size(), offset->size()); ++i) {
      std::int64_t end = 0;
      const std::int64_t own = i < part.shape.size() ? part.shape[i] : 0;
      if (!__builtin_add_overflow((*offset)[i], own, &end)) reach[i] = std::max(reach[i], end);
    }
  }
  return reach;
}

}  // namespace

bool is_rank_file(std::string_view name) {
  const std::string_view stem = name.substr(0, name.rfind('.'));
  const std::size_t at = stem.rfind("_rank");
  if (at == std::string_view::npos || at + 5 == stem.size()) return false;
  return std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(at) + 5, stem.end(),
                     [](char each) { return each >= '0' && each <= '9'; });
}

std::optional<std::vector<std::int64_t>> wrapper_size(const pickle::PickleDocument& document,
                                                      const pickle::PickleNode& node) {
  if (node.kind != pickle::PickleKind::object || node.items.size() < 3) return std::nullopt;
  const pickle::PickleNode& arguments = document.at(node.items[1]);
  if (arguments.kind != pickle::PickleKind::tuple || arguments.items.size() < 3)
    return std::nullopt;
  return numbers_of(document, &document.at(arguments.items[2]));
}

std::optional<pickle::NodeId> local_tensor(const pickle::PickleDocument& document,
                                           const pickle::PickleNode& node) {
  if (node.kind != pickle::PickleKind::object) return std::nullopt;
  const pickle::PickleNode* found =
      node.text.ends_with(".DTensor") ? attribute(document, node, "_local_tensor") : nullptr;
  if (const pickle::PickleNode* first = first_shard(document, node)) {
    found = attribute(document, *first, "tensor");
  }
  if (found == nullptr || found->kind != pickle::PickleKind::tensor) return std::nullopt;
  return static_cast<pickle::NodeId>(found - document.nodes.data());
}

std::unordered_map<std::size_t, TensorShard> find_shards(const pickle::PickleDocument& document) {
  std::unordered_map<std::size_t, TensorShard> found;
  for (const pickle::PickleNode& node : document.nodes) {
    const auto local = local_tensor(document, node);
    if (!local) continue;
    auto shard = shard_of_sharded(document, node);
    if (!shard) shard = shard_of_dtensor(document, node);
    if (shard) found.emplace(static_cast<std::size_t>(document.at(*local).number), *shard);
  }
  return found;
}

std::unordered_map<std::string, TensorShard> read_sharding_info(std::string_view json) {
  std::unordered_map<std::string, TensorShard> found;
  simdjson::dom::parser parser;
  simdjson::dom::object all;
  if (parser.parse(json.data(), json.size()).get(all) != simdjson::SUCCESS) return found;
  for (const auto field : all) {
    simdjson::dom::array numbers;
    if (field.value["saved_offsets"].get(numbers) != simdjson::SUCCESS) continue;
    Numbers offset;
    for (const auto each : numbers) {
      std::int64_t number = -1;
      if (each.get(number) != simdjson::SUCCESS || offset.size() >= k_most_axes) break;
      offset.push_back(number);
    }
    if (offset.size() == numbers.size()) found[std::string(field.key)].offset = std::move(offset);
  }
  return found;
}

tensors::Tensor join_shards(std::vector<tensors::Tensor> parts, std::string& why) {
  const Numbers shape = whole_shape(parts);
  const Numbers mesh = mesh_of(parts);
  const std::string name = parts.front().name;
  std::map<Numbers, TensorPiece> pieces;  // by offset: replicas once
  for (tensors::Tensor& each : parts) {
    const TensorShard& shard = *each.shard;
    Part part{shard.offset.value_or(Numbers()), each.shape};
    if (!shard.offset) part = place_of(shard, shape, mesh);
    if (part.size != each.shape) {
      why = fmt::format("a rank holds {} where its place in the mesh asks for {}",
                        tensors::show_shape(each.shape), tensors::show_shape(part.size));
    }
    if (each.count == 0 && pieces.count(part.offset) > 0) continue;
    TensorPiece piece{part.offset, part.size, std::move(each), 0};
    const auto [at, fresh] = pieces.emplace(part.offset, piece);
    if (!fresh && at->second.data.count == 0) at->second = std::move(piece);
  }
  std::vector<TensorPiece> list;
  for (auto& [offset, piece] : pieces) {
    const bool only = pieces.size() == 1;
    if (only || piece.data.count > 0) list.push_back(std::move(piece));
  }
  std::string fault;
  tensors::Tensor joined = join_pieces(name, shape, std::move(list), false, fault);
  if (why.empty()) why = fault;
  if (!why.empty()) joined.source = nullptr;
  return joined;
}

}  // namespace aplomb::checkpoint

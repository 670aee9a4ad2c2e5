#include "checkpoint/tensor_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "checkpoint/mapped_file.h"
#include "checkpoint/pages_ahead.h"
#include "core/text.h"
#include "scan/difference.h"

namespace aplomb {
namespace {

constexpr std::uint64_t k_part_bytes = 4U << 20U;  // between page drops

void add(TensorDiff& diff, const Difference& part) {
  diff.changed += part.changed;
  diff.nonfinite += part.nonfinite;
  diff.max_abs = std::max(diff.max_abs, part.max_abs);
  diff.sum_squares += part.sum_squares;
  diff.before_squares += part.before_squares;
  diff.max_ulps = std::max(diff.max_ulps, part.max_ulps);
  diff.sum_ulps += part.sum_ulps;
}

std::string why_not(const Tensor& before, const Tensor& after) {
  if (before.type != after.type) {
    return fmt::format("dtype {} -> {}", before.type == nullptr ? "?" : before.type->name,
                       after.type == nullptr ? "?" : after.type->name);
  }
  if (before.shape != after.shape) {
    return fmt::format("shape {} -> {}", show_shape(before.shape), show_shape(after.shape));
  }
  if (!before.has_data() || !after.has_data()) return "its data is missing";
  if (after.type == nullptr || !after.type->scalar) return "its dtype cannot be compared";
  return {};
}

std::string lora_module(const std::string& name, std::string_view factor) {
  const std::size_t at = lower(name).find(factor);
  if (at == std::string::npos) return {};
  return name.substr(0, at > 0 ? at - 1 : 0);
}

bool is_zero(const Checkpoint& checkpoint, const std::string& name) {
  const Tensor* tensor = checkpoint.tensor(name);
  const auto stats = tensor == nullptr ? std::nullopt : scan_tensor(*tensor);
  return stats && stats->zeros == stats->count;
}

void pair_lora(CheckpointDiff& diff, const Checkpoint& after) {
  std::unordered_map<std::string, std::size_t> pairs;
  for (const TensorDiff& each : diff.tensors) {
    const bool is_a = each.kind == TensorKind::lora_a;
    if (!is_a && each.kind != TensorKind::lora_b) continue;
    const std::string module =
        lora_module(each.name, lower(each.name).find("lora_embedding") == std::string::npos
                                   ? (is_a ? "lora_a" : "lora_b")
                                   : (is_a ? "lora_embedding_a" : "lora_embedding_b"));
    const auto [at, fresh] = pairs.emplace(module, diff.lora.size());
    if (fresh) diff.lora.push_back({module});
    LoraPair& pair = diff.lora[at->second];
    (is_a ? pair.a_moved : pair.b_moved) = each.changed > 0;
    pair.product_zero = pair.product_zero || (!each.changed && is_zero(after, each.name));
  }
}

struct Pair {
  const Tensor* before;
  const Tensor* after;
  /// In one piece in file mappings on both sides.
  bool is_mapped() const {
    return before->mapped && before->stride.empty() && after->mapped && after->stride.empty();
  }
};

/// Elements between page drops.
std::uint64_t part_elements(const Tensor& tensor) {
  return std::max<std::uint64_t>(k_part_bytes / (tensor.type->bits / 8), 1);
}

/// The bytes that compare() reads, in its order: before, after, before, after.
void list_parts(const Pair& pair, std::vector<std::span<const std::byte>>& parts) {
  if (!why_not(*pair.before, *pair.after).empty() || !pair.is_mapped()) return;
  const std::uint64_t step = part_elements(*pair.after);
  std::vector<std::byte> none;
  for (std::uint64_t from = 0; from < pair.after->count; from += step) {
    const std::uint64_t count = std::min(step, pair.after->count - from);
    parts.push_back(raw_elements(*pair.before, from, count, none));
    parts.push_back(raw_elements(*pair.after, from, count, none));
  }
}

/// `reach` is called twice before each part of a mapped pair is read.
template <class Reach>
TensorDiff compare(const Pair& pair, Reach reach) {
  const Tensor& before = *pair.before;
  const Tensor& after = *pair.after;
  TensorDiff diff;
  diff.name = after.name;
  diff.kind = kind_of(after);
  diff.type = after.type;
  diff.shape = after.shape;
  diff.count = after.count;
  diff.note = why_not(before, after);
  if (!diff.note.empty()) return diff;
  diff.compared = true;
  const ScalarType type = *after.type->scalar;
  const std::uint64_t step = part_elements(after);
  std::vector<std::byte> one;
  std::vector<std::byte> other;
  TensorStats still;  // while nothing has moved: rounding alone may hold small updates back
  for (std::uint64_t from = 0; from < after.count; from += step) {
    const std::uint64_t count = std::min(step, after.count - from);
    if (pair.is_mapped()) {
      reach();
      reach();
    }
    const auto a = raw_elements(before, from, count, one);
    const auto b = raw_elements(after, from, count, other);
    const std::uint64_t scalars = count * after.type->scalars;
    add(diff, difference({a.data(), scalars, type}, {b.data(), scalars, type}));
    if (diff.changed == 0) still.add(scan({b.data(), scalars, type}));
    if (before.mapped && before.stride.empty()) drop_pages(a);
    if (after.mapped && after.stride.empty()) drop_pages(b);
  }
  if (diff.frozen()) {
    diff.max_weight = still.max_abs;
    diff.min_weight = still.zeros > 0 || !std::isfinite(still.min_abs) ? 0 : still.min_abs;
  }
  return diff;
}

template <std::size_t kinds>
void count_kind(const TensorDiff& made, std::array<KindDiff, kinds>& all) {
  if (!made.compared) return;
  KindDiff& kind = all[static_cast<std::size_t>(made.kind)];
  kind.kind = made.kind;
  ++kind.tensors;
  kind.frozen += made.frozen() ? 1U : 0U;
  kind.elements += made.count;
  kind.changed += made.changed;
}

}  // namespace

TensorDiff diff_tensors(const Tensor& before, const Tensor& after) {
  return compare({&before, &after}, [] {});
}

CheckpointDiff diff_checkpoints(const Checkpoint& before, const Checkpoint& after) {
  CheckpointDiff diff;
  std::unordered_map<std::string_view, const Tensor*> earlier;
  for (const Tensor& each : before.tensors) earlier.emplace(each.name, &each);
  std::array<KindDiff, static_cast<std::size_t>(TensorKind::count_)> kinds{};
  std::vector<Pair> pairs;
  for (const Tensor& each : after.tensors) {
    const auto found = earlier.find(each.name);
    if (found == earlier.end()) {
      diff.only_after.push_back(each.name);
      continue;
    }
    pairs.push_back({found->second, &each});
    earlier.erase(found);
  }
  std::vector<std::span<const std::byte>> parts;
  for (const Pair& pair : pairs) list_parts(pair, parts);
  PagesAhead ahead(std::move(parts));
  std::size_t part = 0;
  for (const Pair& pair : pairs) {
    diff.tensors.push_back(compare(pair, [&] { ahead.reached(part++); }));
    count_kind(diff.tensors.back(), kinds);
  }
  for (const Tensor& each : before.tensors) {
    if (earlier.count(each.name) > 0) diff.only_before.push_back(each.name);
  }
  for (const KindDiff& kind : kinds) {
    if (kind.tensors > 0) diff.kinds.push_back(kind);
  }
  pair_lora(diff, after);
  return diff;
}

std::size_t CheckpointDiff::trainable() const {
  std::size_t sum = 0;
  for (const KindDiff& kind : kinds) sum += kind.kind == TensorKind::buffer ? 0 : kind.tensors;
  return sum;
}

std::size_t CheckpointDiff::frozen() const {
  std::size_t sum = 0;
  for (const KindDiff& kind : kinds) sum += kind.kind == TensorKind::buffer ? 0 : kind.frozen;
  return sum;
}

const KindDiff* CheckpointDiff::of(TensorKind kind) const {
  for (const KindDiff& each : kinds) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

}  // namespace aplomb

#include "checkpoint/tensor_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "checkpoint/mapped_file.h"
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

/// Magnitudes of a frozen tensor: they say whether rounding alone could hold it.
void note_weights(TensorDiff& diff, const Tensor& tensor) {
  if (const auto stats = scan_tensor(tensor)) {
    diff.max_weight = stats->max_abs;
    diff.min_weight = stats->zeros > 0 || !std::isfinite(stats->min_abs) ? 0 : stats->min_abs;
  }
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

}  // namespace

TensorDiff diff_tensors(const Tensor& before, const Tensor& after) {
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
  const std::uint64_t width = after.type->bits / 8;
  const std::uint64_t step = std::max<std::uint64_t>(k_part_bytes / width, 1);
  std::vector<std::byte> one;
  std::vector<std::byte> other;
  for (std::uint64_t from = 0; from < after.count; from += step) {
    const std::uint64_t count = std::min(step, after.count - from);
    const auto a = raw_elements(before, from, count, one);
    const auto b = raw_elements(after, from, count, other);
    const std::uint64_t scalars = count * after.type->scalars;
    add(diff, difference({a.data(), scalars, type}, {b.data(), scalars, type}));
    if (before.mapped && before.stride.empty()) drop_pages(a);
    if (after.mapped && after.stride.empty()) drop_pages(b);
  }
  if (diff.frozen()) note_weights(diff, after);
  return diff;
}

CheckpointDiff diff_checkpoints(const Checkpoint& before, const Checkpoint& after) {
  CheckpointDiff diff;
  std::unordered_map<std::string_view, const Tensor*> earlier;
  for (const Tensor& each : before.tensors) earlier.emplace(each.name, &each);
  std::array<KindDiff, static_cast<std::size_t>(TensorKind::count_)> kinds{};
  for (const Tensor& each : after.tensors) {
    const auto found = earlier.find(each.name);
    if (found == earlier.end()) {
      diff.only_after.push_back(each.name);
      continue;
    }
    diff.tensors.push_back(diff_tensors(*found->second, each));
    earlier.erase(found);
    const TensorDiff& made = diff.tensors.back();
    if (!made.compared) continue;
    KindDiff& kind = kinds[static_cast<std::size_t>(made.kind)];
    kind.kind = made.kind;
    ++kind.tensors;
    kind.frozen += made.frozen() ? 1U : 0U;
    kind.elements += made.count;
    kind.changed += made.changed;
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

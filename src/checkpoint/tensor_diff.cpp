#include "checkpoint/tensor_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "checkpoint/mapped_file.h"
#include "core/text.h"
#include "scan/element.h"

namespace aplomb {
namespace {

constexpr std::uint64_t k_part_bytes = 4U << 20U;  // between page drops
constexpr std::uint64_t k_block_bytes = 4096;      // compared before it is looked into

/// Sums of one block. Plain members, so that the loops below vectorise.
struct BlockSums {
  std::uint64_t changed = 0;
  std::uint64_t nonfinite = 0;
  double max_abs = 0;
  double squares = 0;
  double before = 0;
  std::uint64_t max_ulps = 0;
  double ulps = 0;
};

/// IEEE bits as an integer that grows with the value: neighbours differ by 1, both zeros are 0.
template <class Bits>
std::int64_t ordered(Bits bits) {
  using Signed = std::make_signed_t<Bits>;
  constexpr Bits k_magnitude = std::numeric_limits<Bits>::max() / 2;
  const auto magnitude = static_cast<std::int64_t>(bits & k_magnitude);
  return static_cast<Signed>(bits) < 0 ? -magnitude : magnitude;
}

/// Floats whose bits are ordered as their values. `widen` gives the value of the bits.
template <class Bits, class Widen>
BlockSums compare_floats(const std::byte* a, const std::byte* b, std::size_t count, Widen widen) {
  BlockSums sums;
  double max_abs = 0;
  double squares = 0;
  double before = 0;
  double ulp_sum = 0;
  std::int64_t max_ulps = 0;
  std::uint64_t changed = 0;
  std::uint64_t nonfinite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits x = 0;
    Bits y = 0;
    std::memcpy(&x, a + i * sizeof(Bits), sizeof(Bits));
    std::memcpy(&y, b + i * sizeof(Bits), sizeof(Bits));
    const double was = widen(x);
    const double is = widen(y);
    const bool finite = std::fabs(was) <= std::numeric_limits<double>::max() &&
                        std::fabs(is) <= std::numeric_limits<double>::max();
    const std::int64_t apart = ordered(y) - ordered(x);
    const std::int64_t ulps = finite ? (apart < 0 ? -apart : apart) : 0;
    const double delta = finite ? std::fabs(is - was) : 0.0;
    changed += apart != 0 ? 1U : 0U;
    nonfinite += finite ? 0U : 1U;
    max_ulps = std::max(max_ulps, ulps);
    ulp_sum += static_cast<double>(ulps);
    max_abs = std::max(max_abs, delta);
    squares += delta * delta;
    before += finite ? was * was : 0.0;
  }
  sums.changed = changed;
  sums.nonfinite = nonfinite;
  sums.max_abs = max_abs;
  sums.squares = squares;
  sums.before = before;
  sums.max_ulps = static_cast<std::uint64_t>(max_ulps);
  sums.ulps = ulp_sum;
  return sums;
}

/// Everything else, through double.
BlockSums compare_any(ScalarType type, const std::byte* a, const std::byte* b, std::size_t count) {
  BlockSums sums;
  constexpr std::size_t k_most = k_block_bytes;
  std::array<double, k_most> was{};
  scan_detail::for_each_element({a, count, type}, 0, count,
                                [&](std::uint64_t i, double value) { was[i] = value; });
  scan_detail::for_each_element({b, count, type}, 0, count, [&](std::uint64_t i, double is) {
    const bool finite = std::isfinite(was[i]) && std::isfinite(is);
    if (!finite) {
      ++sums.nonfinite;
      if (!(std::isnan(was[i]) && std::isnan(is)) && was[i] != is) ++sums.changed;
      return;
    }
    const double delta = std::fabs(is - was[i]);
    sums.changed += delta != 0 ? 1U : 0U;
    sums.max_abs = std::max(sums.max_abs, delta);
    sums.squares += delta * delta;
    sums.before += was[i] * was[i];
  });
  return sums;
}

BlockSums compare_block(ScalarType type, const std::byte* a, const std::byte* b,
                        std::size_t count) {
  switch (type) {
    case ScalarType::f32:
      return compare_floats<std::uint32_t>(a, b, count, [](std::uint32_t bits) {
        return static_cast<double>(std::bit_cast<float>(bits));
      });
    case ScalarType::bf16:
      return compare_floats<std::uint16_t>(a, b, count, [](std::uint16_t bits) {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
      });
    case ScalarType::f16:
      return compare_floats<std::uint16_t>(
          a, b, count, [](std::uint16_t bits) { return decode(Format::fp16, bits); });
    default:
      return compare_any(type, a, b, count);
  }
}

void add(TensorDiff& diff, const BlockSums& sums) {
  diff.changed += sums.changed;
  diff.nonfinite += sums.nonfinite;
  diff.max_abs = std::max(diff.max_abs, sums.max_abs);
  diff.sum_squares += sums.squares;
  diff.before_squares += sums.before;
  diff.max_ulps = std::max(diff.max_ulps, sums.max_ulps);
  diff.sum_ulps += sums.ulps;
}

/// Two pieces of equal length. Equal blocks hold nothing new.
void compare_part(TensorDiff& diff, ScalarType type, std::span<const std::byte> a,
                  std::span<const std::byte> b) {
  const std::size_t width = size_of(type);
  for (std::size_t at = 0; at < a.size(); at += k_block_bytes) {
    const std::size_t bytes = std::min<std::size_t>(k_block_bytes, a.size() - at);
    if (std::memcmp(a.data() + at, b.data() + at, bytes) == 0) continue;
    add(diff, compare_block(type, a.data() + at, b.data() + at, bytes / width));
  }
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
    compare_part(diff, type, a, b);
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

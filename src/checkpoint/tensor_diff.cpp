#include "checkpoint/tensor_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <unordered_map>

#include "core/share_work.h"
#include "core/text.h"
#include "tensors/mapped_file.h"
#include "tensors/pages_ahead.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_part_bytes = 4U << 20U;  // between page drops

std::string why_not(const tensors::Tensor& before, const tensors::Tensor& after) {
  if (before.type != after.type && !tensors::is_widened(before, after)) {
    return fmt::format("dtype {} -> {}", before.type == nullptr ? "?" : before.type->name,
                       after.type == nullptr ? "?" : after.type->name);
  }
  if (before.shape != after.shape) {
    return fmt::format("shape {} -> {}", tensors::show_shape(before.shape),
                       tensors::show_shape(after.shape));
  }
  if (!before.has_data() || !after.has_data()) return "its data is missing";
  if (after.type == nullptr || !after.type->scalar) return "its dtype cannot be compared";
  return {};
}

struct Pair {
  const tensors::Tensor* before;
  const tensors::Tensor* after;
  std::string why_not;  ///< why they cannot be compared
  /// In one piece in file mappings on both sides.
  bool is_mapped() const {
    return before->mapped && before->stride.empty() && after->mapped && after->stride.empty();
  }
};

std::string lora_module(const std::string& name, std::string_view factor) {
  const std::size_t at = core::lower(name).find(factor);
  if (at == std::string::npos) return {};
  return name.substr(0, at > 0 ? at - 1 : 0);
}

bool is_zero(const tensors::Tensor& tensor) {
  const auto stats = tensors::scan_tensor(tensor);
  return stats && stats->zeros == stats->count;
}

/// `compared`: the tensors that were compared, in the order of diff.tensors.
void pair_lora(CheckpointDiff& diff, const std::vector<Pair>& compared) {
  std::unordered_map<std::string, std::size_t> pairs;
  for (std::size_t i = 0; i < diff.tensors.size(); ++i) {
    const TensorDiff& each = diff.tensors[i];
    const bool is_a = each.kind == TensorKind::lora_a;
    if (!is_a && each.kind != TensorKind::lora_b) continue;
    const std::string module =
        lora_module(each.name, core::lower(each.name).find("lora_embedding") == std::string::npos
                                   ? (is_a ? "lora_a" : "lora_b")
                                   : (is_a ? "lora_embedding_a" : "lora_embedding_b"));
    const auto [at, fresh] = pairs.emplace(module, diff.lora.size());
    if (fresh) diff.lora.push_back({module});
    LoraPair& pair = diff.lora[at->second];
    (is_a ? pair.a_moved : pair.b_moved) = each.changed > 0;
    pair.product_zero = pair.product_zero || (!each.changed && is_zero(*compared[i].after));
  }
}

/// Elements [from, from + count) of a pair.
struct Part {
  std::size_t pair;
  std::uint64_t from;
  std::uint64_t count;
};

void list_parts(const Pair& pair, std::size_t index, std::vector<Part>& parts) {
  if (!pair.why_not.empty()) return;
  const std::uint64_t width = pair.after->type->bits / 8;
  const std::uint64_t step = std::max<std::uint64_t>(k_part_bytes / width, 1);
  for (std::uint64_t from = 0; from < pair.after->count; from += step) {
    parts.push_back({index, from, std::min(step, pair.after->count - from)});
  }
}

/// What a thread compares with: buffers for what does not lie in one piece.
struct Buffers {
  std::vector<std::byte> before;
  std::vector<std::byte> after;
};

/// `still`: nothing before this part has moved, as far as is known.
PartDiff compare(const Pair& pair, const Part& part, bool still, Buffers& buffers) {
  if (pair.before->type != pair.after->type)
    return {tensors::widened_difference(*pair.before, *pair.after, part.from, part.count)};
  const auto a = tensors::raw_elements(*pair.before, part.from, part.count, buffers.before);
  const auto b = tensors::raw_elements(*pair.after, part.from, part.count, buffers.after);
  const scan::ScalarType type = *pair.after->type->scalar;
  const std::uint64_t scalars = part.count * pair.after->type->scalars;
  PartDiff made;
  if (a.empty() || b.empty()) return made;
  made.moved = scan::difference({a.data(), scalars, type}, {b.data(), scalars, type});
  if (still && made.moved.changed == 0) {  // rounding alone may hold small updates back
    const scan::TensorStats stats = scan::scan({b.data(), scalars, type});
    made.max_weight = stats.max_abs;
    made.min_weight = stats.zeros > 0 || !std::isfinite(stats.min_abs) ? 0 : stats.min_abs;
  }
  if (pair.before->mapped && pair.before->stride.empty()) tensors::drop_pages(a);
  if (pair.after->mapped && pair.after->stride.empty()) tensors::drop_pages(b);
  return made;
}

/// All parts of all pairs, shared by threads.
class Comparison {
 public:
  Comparison(const std::vector<Pair>& pairs, const DiffOptions& options)
      : pairs_(pairs), options_(options), moved_(pairs.size()) {
    for (std::size_t i = 0; i < pairs.size(); ++i) list_parts(pairs[i], i, parts_);
    for (const Part& each : parts_) all_bytes_ += bytes_of(each);
  }

  /// One result a part, in the order of parts().
  std::vector<std::optional<PartDiff>> run() {
    std::vector<std::optional<PartDiff>> found(parts_.size());
    tensors::PagesAhead ahead(own_bytes());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      Buffers buffers;
      for (std::size_t turn = next++; own(turn) < parts_.size(); turn = next++) {
        const std::size_t i = own(turn);
        const std::size_t place = places_[turn];
        if (place != k_elsewhere) ahead.reached(place);
        std::atomic<bool>& moved = moved_[parts_[i].pair];
        found[i] = compare(pairs_[parts_[i].pair], parts_[i], !moved, buffers);
        if (found[i]->moved.changed > 0) moved = true;
        const std::uint64_t done = done_bytes_ += bytes_of(parts_[i]);
        if (options_.progress) options_.progress(done, all_bytes_);
      }
    };
    core::share_work(options_.threads, work);
    if (options_.join) options_.join(found);
    return found;
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  static constexpr std::size_t k_elsewhere = static_cast<std::size_t>(-1);
  static constexpr std::uint64_t k_least_ahead = 128U << 10U;  // Linux's default readahead

  std::size_t own(std::size_t turn) const { return options_.rank + turn * options_.ranks; }

  std::uint64_t bytes_of(const Part& part) const {
    return 2 * part.count * pairs_[part.pair].after->type->bits / 8;
  }

  /// The bytes of mapped parts in the order in which they are read, two spans a part, and where
  /// each turn's begin among them.
  std::vector<std::span<const std::byte>> own_bytes() {
    std::vector<std::span<const std::byte>> bytes;
    std::vector<std::byte> none;
    for (std::size_t turn = 0; own(turn) < parts_.size(); ++turn) {
      const Part& part = parts_[own(turn)];
      const Pair& pair = pairs_[part.pair];
      // Of small parts the system's own reading ahead has the next ones; a word to other threads
      // about each of 100,000 would cost more than they do.
      const bool ahead = pair.is_mapped() && bytes_of(part) >= k_least_ahead;
      places_.push_back(ahead ? bytes.size() + 1 : k_elsewhere);
      if (!ahead) continue;
      bytes.push_back(tensors::raw_elements(*pair.before, part.from, part.count, none));
      bytes.push_back(tensors::raw_elements(*pair.after, part.from, part.count, none));
    }
    return bytes;
  }

  const std::vector<Pair>& pairs_;
  const DiffOptions& options_;
  std::vector<Part> parts_;
  std::vector<std::size_t> places_;
  std::vector<std::atomic<bool>> moved_;
  std::atomic<std::uint64_t> done_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;
};

TensorDiff empty_diff(const Pair& pair) {
  TensorDiff diff;
  diff.name = pair.after->name;
  diff.kind = kind_of(*pair.after);
  diff.type = pair.after->type;
  diff.shape = pair.after->shape;
  diff.count = pair.after->count;
  diff.note = pair.why_not;
  diff.compared = pair.why_not.empty();
  return diff;
}

void add(TensorDiff& diff, const PartDiff& part, bool first) {
  diff.changed += part.moved.changed;
  diff.nonfinite += part.moved.nonfinite;
  diff.max_abs = std::max(diff.max_abs, part.moved.max_abs);
  diff.sum_squares += part.moved.sum_squares;
  diff.before_squares += part.moved.before_squares;
  diff.max_ulps = std::max(diff.max_ulps, part.moved.max_ulps);
  diff.sum_ulps += part.moved.sum_ulps;
  diff.max_weight = std::max(diff.max_weight, part.max_weight);
  diff.min_weight = first ? part.min_weight : std::min(diff.min_weight, part.min_weight);
}

std::vector<TensorDiff> compare_all(const std::vector<Pair>& pairs, const DiffOptions& options) {
  Comparison comparison(pairs, options);
  const auto found = comparison.run();
  std::vector<TensorDiff> diffs;
  diffs.reserve(pairs.size());
  for (const Pair& pair : pairs) diffs.push_back(empty_diff(pair));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Part& part = comparison.parts()[i];
    if (found[i]) add(diffs[part.pair], *found[i], part.from == 0);
  }
  for (TensorDiff& each : diffs) {
    if (!each.frozen()) each.max_weight = each.min_weight = 0;
  }
  return diffs;
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

TensorDiff diff_tensors(const tensors::Tensor& before, const tensors::Tensor& after) {
  return compare_all({{&before, &after, why_not(before, after)}}, {}).front();
}

CheckpointDiff diff_checkpoints(const Checkpoint& before, const Checkpoint& after,
                                const DiffOptions& options) {
  CheckpointDiff diff;
  std::unordered_map<std::string_view, const tensors::Tensor*> earlier;
  for (const tensors::Tensor& each : before.tensors) earlier.emplace(each.name, &each);
  std::array<KindDiff, static_cast<std::size_t>(TensorKind::count_)> kinds{};
  std::vector<Pair> pairs;
  for (const tensors::Tensor& each : after.tensors) {
    const auto found = earlier.find(each.name);
    if (found == earlier.end()) {
      diff.only_after.push_back(each.name);
      continue;
    }
    pairs.push_back({found->second, &each, why_not(*found->second, each)});
    earlier.erase(found);
  }
  diff.tensors = compare_all(pairs, options);
  for (const TensorDiff& each : diff.tensors) count_kind(each, kinds);
  for (const tensors::Tensor& each : before.tensors) {
    if (earlier.count(each.name) > 0) diff.only_before.push_back(each.name);
  }
  for (const KindDiff& kind : kinds) {
    if (kind.tensors > 0) diff.kinds.push_back(kind);
  }
  pair_lora(diff, pairs);
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

}  // namespace aplomb::checkpoint

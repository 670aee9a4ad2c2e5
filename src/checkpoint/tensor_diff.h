#pragma once
/// What moved between two checkpoints: per tensor and by kind, in units in the last place and as a
/// share of the norm.
///
///     CheckpointDiff diff = diff_checkpoints(before, after);
///     for (const TensorDiff& each : diff.tensors) if (each.frozen()) ...
///
/// One pass over both files, bound by memory, shared by threads and processes. Private memory does
/// not grow with the checkpoints.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_kind.h"
#include "scan/difference.h"

namespace aplomb::checkpoint {

struct TensorDiff {
  std::string name;
  TensorKind kind = TensorKind::other;
  const tensors::ElementType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;
  bool compared = false;  ///< same dtype and shape in both, data there, a type that can be read

  std::uint64_t changed = 0;    ///< elements with another value; -0 and +0 are the same
  std::uint64_t nonfinite = 0;  ///< elements that are NaN or Inf in either
  double max_abs = 0;           ///< largest |after - before| over finite elements
  double sum_squares = 0;       ///< of after - before
  double before_squares = 0;    ///< of before, over finite elements
  std::uint64_t max_ulps = 0;   ///< 16- and 32-bit floats: representable values between the two
  double sum_ulps = 0;          ///< over changed elements
  double max_weight = 0;        ///< largest |before| of a frozen tensor's elements
  double min_weight = 0;        ///< smallest
  std::string note;             ///< why it was not compared

  bool frozen() const { return compared && changed == 0 && count > 0; }
  double changed_frac() const {
    return count == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(count);
  }
};

/// Compares two tensors of the same type, shape and layout.
TensorDiff diff_tensors(const tensors::Tensor& before, const tensors::Tensor& after);

struct KindDiff {
  TensorKind kind = TensorKind::other;
  std::size_t tensors = 0;
  std::size_t frozen = 0;
  std::uint64_t elements = 0;
  std::uint64_t changed = 0;
};

/// One pair of LoRA factors in the later checkpoint.
struct LoraPair {
  std::string name;  ///< of the module, without `lora_A`
  bool a_moved = false;
  bool b_moved = false;
  bool product_zero = false;  ///< B (or A) is all zero: the adapter does nothing
};

struct CheckpointDiff {
  std::vector<TensorDiff> tensors;  ///< in the order of the later checkpoint
  std::vector<KindDiff> kinds;      ///< kinds that occur, in TensorKind's order
  std::vector<LoraPair> lora;
  std::vector<std::string> only_before;
  std::vector<std::string> only_after;

  /// Tensors that training should move (no buffers): all, and those that did not move.
  std::size_t trainable() const;
  std::size_t frozen() const;
  const KindDiff* of(TensorKind kind) const;
};

/// What a part of a few MiB of a pair of tensors came to. Plain data, so that processes can send
/// it.
struct PartDiff {
  scan::Difference moved;
  double max_weight = 0;  ///< of `after`, where nothing in the part moved
  double min_weight = 0;
};

struct DiffOptions {
  int threads = 1;
  /// Called now and then with the bytes of both sides that are done, of `all_bytes`, from whichever
  /// thread; may be empty.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress;
  /// Of several processes this is `rank`: each compares its share of the parts, and `join` fills in
  /// what the others found.
  std::size_t rank = 0;
  std::size_t ranks = 1;
  std::function<void(std::vector<std::optional<PartDiff>>& parts)> join;
};

/// The result depends neither on the threads nor on the processes.
CheckpointDiff diff_checkpoints(const Checkpoint& before, const Checkpoint& after,
                                const DiffOptions& options = {});

}  // namespace aplomb::checkpoint

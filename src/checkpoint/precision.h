#pragma once
/// Which weights would not change if the optimizer took its next step now, told from one checkpoint
/// with the state of Adam: the weight, its moments and the group's learning rate are all that the
/// step depends on (numerics/lost_update.h has the arithmetic).
///
/// A weight whose update rounds away keeps its value, so the next update meets the same weight: a
/// tensor that loses every element stays frozen for as long as its updates stay of this size.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_map.h"
#include "checkpoint/tensor_kind.h"
#include "numerics/lost_update.h"

namespace aplomb {

struct TensorPrecision {
  std::string name;
  TensorKind kind = TensorKind::other;
  std::size_t tensor = 0;  ///< index into Checkpoint::tensors
  Format format = Format::fp32;
  double lr = 0;
  LostUpdates lost;
  bool sure = false;  ///< of the name

  bool all_lost() const { return lost.asked > 0 && lost.lost == lost.asked; }
};

/// What keeping the weights in fp32 costs, in bytes.
struct MasterWeightPrice {
  std::uint64_t parameters = 0;     ///< in 16 bits or fewer
  std::uint64_t weights_bytes = 0;  ///< more for fp32 weights in place of these
  std::uint64_t grads_bytes = 0;    ///< more, since gradients take the weights' dtype
  std::uint64_t moments_bytes = 0;  ///< more, where the moments are in 16 bits too
  std::uint64_t copy_bytes = 0;     ///< instead: a fp32 copy beside 16-bit weights
};

struct Precision {
  std::vector<TensorPrecision> tensors;  ///< most lost first
  MasterWeightPrice price;
  std::uint64_t asked = 0;
  std::uint64_t lost = 0;
  bool certain = false;    ///< every parameter's name is known
  bool used_peak = false;  ///< the learning rate had run out: the schedule's peak was taken
  std::string why_not;     ///< why nothing could be predicted; empty where it could
  double lost_frac() const {
    return asked == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(asked);
  }
  std::size_t frozen() const;  ///< tensors that lose every update
};

/// `as`: predicts for weights kept in this format instead of their own (rounded to it first).
Precision predict_precision(const Checkpoint& checkpoint, std::optional<Format> as = std::nullopt);

}  // namespace aplomb

#pragma once
/// Which weights would not change if the optimizer took its next step now, and which would not over
/// the steps that follow, told from one checkpoint with the optimizer's state: the weight, its
/// moments and the group's learning rate are all that a step of Adam, Lion, SGD with momentum or
/// Muon depends on (numerics/lost_update.h has the arithmetic, update_rule.h the model over many
/// steps).

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_map.h"
#include "checkpoint/tensor_kind.h"
#include "checkpoint/update_rule.h"
#include "numerics/lost_update.h"

namespace aplomb::checkpoint {

struct TensorPrecision {
  std::string name;
  TensorKind kind = TensorKind::other;
  std::size_t tensor = 0;  ///< index into Checkpoint::tensors
  numerics::Format format = numerics::Format::fp32;
  double lr = 0;
  UpdateKind rule = UpdateKind::adam;
  numerics::LostUpdates lost;
  /// The largest single update to be expected over the steps ahead, over what it takes to change
  /// the element that it takes least for. Known where every update of the next step is lost.
  double reach = 1;
  /// The same for the largest update that the optimizer can make at all; infinite where it has no
  /// bound.
  double bound = std::numeric_limits<double>::infinity();
  bool sure = false;  ///< of the name

  bool all_lost() const { return lost.asked > 0 && lost.lost == lost.asked; }
  /// No element will change over the steps ahead.
  bool stays() const { return all_lost() && reach < 1; }
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
  bool certain = false;     ///< every parameter's name is known
  bool used_peak = false;   ///< the learning rate had run out: the schedule's peak was taken
  bool warming = false;     ///< it still rises: the steps ahead are judged at its peak
  std::uint64_t steps = 0;  ///< ahead
  std::string why_not;      ///< why nothing could be predicted; empty where it could
  double lost_frac() const {
    return asked == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(asked);
  }
  std::size_t frozen() const;  ///< tensors that lose every update of the next step
  std::size_t stays() const;   ///< of them: those that no step ahead will change
};

struct PrecisionQuestion {
  std::optional<numerics::Format>
      as;                     ///< for weights kept in this format instead (rounded to it first)
  std::uint64_t steps = 200;  ///< ahead
};

Precision predict_precision(const Checkpoint& checkpoint, const PrecisionQuestion& question = {});

}  // namespace aplomb::checkpoint

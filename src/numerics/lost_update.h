#pragma once
/// What an optimizer step would do to a weight, and whether the format that stores the weight can
/// hold the result.
///
/// A weight near 1.0 in bf16 has neighbours 2^-7 above and 2^-8 below: an Adam update of 1e-4
/// rounds back to the same weight, every step, for ever. These functions predict that from one
/// checkpoint: the weights and the optimizer's state are all they need.
///
/// The arithmetic is that of PyTorch's torch.optim (single-tensor and fused forms compute in fp32
/// and round once when they store the parameter; decoupled weight decay is a factor on the
/// parameter before the update).

#include <cstdint>
#include <span>

#include "numerics/format.h"

namespace aplomb::numerics {

struct AdamHyper {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled =
      true;  ///< AdamW; false: Adam with L2 in the gradient (its share is in exp_avg already)
  double step = 1;  ///< optimizer steps taken so far: the bias corrections are those of this count
};

struct SgdHyper {
  double lr = 1e-2;
  double weight_decay = 0;
};

struct LionHyper {
  double lr = 1e-4;
  double weight_decay = 0;
};

/// lr * m_hat / (sqrt(v_hat) + eps): what one step subtracts, decay aside (Kingma & Ba 2015,
/// arXiv:1412.6980; decoupled decay: Loshchilov & Hutter 2019, arXiv:1711.05101). NaN in, NaN out.
double adam_update(const AdamHyper& hyper, double exp_avg, double exp_avg_sq);
/// The weight after one step, in the exact reals (no rounding).
double adam_next(const AdamHyper& hyper, double weight, double exp_avg, double exp_avg_sq);
double sgd_next(const SgdHyper& hyper, double weight, double momentum_or_gradient);
/// Lion subtracts lr * sign(m): the size of its update is lr (Chen et al. 2023, arXiv:2302.06675).
double lion_next(const LionHyper& hyper, double weight, double exp_avg);

/// Does `weight`, stored in `format`, stay the same bits when it should become `next`? `weight`
/// must be a value of the format. A step that asks for no change at all (next == weight) is not
/// lost.
bool is_lost(Format format, double weight, double next);

/// The largest update that rounds away at this weight: half of the gap towards the side it goes to
/// (ties go to the even neighbour, so an update of exactly half a gap may or may not move an odd
/// weight).
double largest_lost_update(Format format, double weight, bool downwards);

struct LostUpdates {
  std::uint64_t elements = 0;  ///< looked at
  std::uint64_t asked = 0;     ///< of them with a non-zero update
  std::uint64_t lost = 0;      ///< of these the stored weight would not change
  double mean_update = 0;      ///< mean |next - weight| over `asked`
  double mean_gap = 0;         ///< mean spacing of the format at the weights of `asked`
  double lost_frac() const {
    return asked == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(asked);
  }
};

/// Over a tensor: weights as stored in `format`, with the state of Adam. The three spans have the
/// same length; fp32.
LostUpdates lost_updates(Format format, const AdamHyper& hyper, std::span<const float> weight,
                         std::span<const float> exp_avg, std::span<const float> exp_avg_sq);

}  // namespace aplomb::numerics

#pragma once
/// How an optimizer would change a weight next, and how far it could over the steps that follow,
/// told from what it keeps for the weight.
///
/// The model over many steps. A weight whose update rounds away keeps its value, so nothing adds
/// up: a tensor stays frozen exactly as long as no single update reaches half the gap to a
/// neighbouring value at one of its elements. What a single update may reach:
///
///   likely    Adam: r = |m^| / sqrt(v^) is the mean of about 1 / (1 - beta1) gradients in units
///             of their own size. Gradients that are noise make it normal with a deviation of
///             sqrt((1 - beta1) / (1 + beta1)), and the largest of K independent draws is about
///             sqrt(2 ln K) of it; K = elements * steps * (1 - beta1). An element whose present r
///             is larger has a signal and keeps that. SGD: the same with the tensor's own RMS.
///   at most   Adam: r^2 <= (1 - b1)^2 / ((1 - b2) (1 - b1^2 / b2)) for every sequence of gradients
///             there is (Cauchy-Schwarz on the two weighted sums; 7.3 for 0.9, 0.999; 1.2 for
///             0.9, 0.95). Lion: exactly 1. SGD: no bound.
///
/// Muon's update has orthogonal rows or columns: its elements have the RMS 1 / sqrt(longer side),
/// times the factor of its learning rate; that stands for each of its elements here.

#include <cstdint>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "numerics/lost_update.h"

namespace aplomb::checkpoint {

enum class UpdateKind : std::uint8_t { adam, lion, sgd, muon };

struct UpdateRule {
  UpdateKind kind = UpdateKind::adam;
  numerics::AdamHyper hyper;  ///< lr, weight decay; betas, eps and step of Adam
  double memory = 0;          ///< beta1, or SGD's momentum: how much of the mean a step keeps
  double muon_rms = 0;        ///< of an element of Muon's update, before the learning rate
  const tensors::Tensor* mean = nullptr;    ///< exp_avg or momentum_buffer
  const tensors::Tensor* square = nullptr;  ///< exp_avg_sq; null but for Adam
};

/// Nothing where the state is not of these optimizers (8-bit states, Adafactor, plain SGD).
std::optional<UpdateRule> rule_of(const OptimizerState& optimizer, const OptimizerGroup& group,
                                  const ParameterState& state, const tensors::Tensor& weight);

/// The weight after one more step with the state as it is, in exact reals.
double next_weight(const UpdateRule& rule, double weight, double mean, double square);

/// What a single update may be over `steps` steps, per unit of learning rate, for any element of a
/// tensor of `elements`; `rms`: of the tensor's means (SGD).
double likely_reach(const UpdateRule& rule, double elements, double steps, double rms);
/// Nothing where there is no bound.
std::optional<double> largest_reach(const UpdateRule& rule);

/// `update` (any direction, weight decay aside) over what it takes to change a weight in this
/// format: at least 1 where the weight can move.
double share_of_gap(numerics::Format format, const UpdateRule& rule, double weight, double update);

}  // namespace aplomb::checkpoint

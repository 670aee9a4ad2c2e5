#include "numerics/lost_update.h"

#include <algorithm>
#include <cmath>

namespace aplomb::numerics {

double adam_update(const AdamHyper& hyper, double exp_avg, double exp_avg_sq) {
  const double correction1 = 1 - std::pow(hyper.beta1, hyper.step);
  const double correction2 = 1 - std::pow(hyper.beta2, hyper.step);
  const double denominator = std::sqrt(exp_avg_sq / correction2) + hyper.eps;
  return hyper.lr * (exp_avg / correction1) / denominator;
}

double adam_next(const AdamHyper& hyper, double weight, double exp_avg, double exp_avg_sq) {
  const double decayed = hyper.decoupled ? weight * (1 - hyper.lr * hyper.weight_decay) : weight;
  return decayed - adam_update(hyper, exp_avg, exp_avg_sq);
}

double sgd_next(const SgdHyper& hyper, double weight, double momentum_or_gradient) {
  return weight - hyper.lr * (momentum_or_gradient + hyper.weight_decay * weight);
}

double lion_next(const LionHyper& hyper, double weight, double exp_avg) {
  const double sign = exp_avg > 0 ? 1.0 : (exp_avg < 0 ? -1.0 : 0.0);
  return weight * (1 - hyper.lr * hyper.weight_decay) - hyper.lr * sign;
}

bool is_lost(Format format, double weight, double next) {
  return next != weight && round_to(format, next) == weight;
}

double largest_lost_update(Format format, double weight, bool downwards) {
  const double magnitude = std::fabs(weight);
  const bool towards_zero = (weight > 0) == downwards;
  double gap = spacing(format, weight);
  // Below a power of two the values lie twice as dense (not so at the smallest normal: the
  // subnormals go on evenly).
  const FormatSpec& spec = spec_of(format);
  int exponent = 0;
  const bool power_of_two =
      magnitude > spec.smallest_normal && std::frexp(magnitude, &exponent) == 0.5;
  if (towards_zero && power_of_two) gap /= 2;
  return gap / 2;
}

LostUpdates lost_updates(Format format, const AdamHyper& hyper, std::span<const float> weight,
                         std::span<const float> exp_avg, std::span<const float> exp_avg_sq) {
  LostUpdates all;
  const std::size_t count = std::min({weight.size(), exp_avg.size(), exp_avg_sq.size()});
  all.elements = count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto stored = static_cast<double>(weight[i]);
    const double next = adam_next(hyper, stored, exp_avg[i], exp_avg_sq[i]);
    if (next == stored || std::isnan(next)) continue;
    ++all.asked;
    all.mean_update += std::fabs(next - stored);
    all.mean_gap += spacing(format, stored);
    if (is_lost(format, stored, next)) ++all.lost;
  }
  if (all.asked > 0) {
    all.mean_update /= static_cast<double>(all.asked);
    all.mean_gap /= static_cast<double>(all.asked);
  }
  return all;
}

}  // namespace aplomb::numerics

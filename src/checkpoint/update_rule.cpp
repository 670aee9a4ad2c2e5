#include "checkpoint/update_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aplomb::checkpoint {
namespace {

double number(const OptimizerGroup& group, const char* key, double otherwise) {
  const auto found = group.numbers.find(key);
  return found == group.numbers.end() ? otherwise : found->second;
}

const tensors::Tensor* kept(const OptimizerState& optimizer, const ParameterState& state,
                            const char* key, const tensors::Tensor& weight) {
  const auto found = state.tensors.find(key);
  if (found == state.tensors.end()) return nullptr;
  const tensors::Tensor& tensor = optimizer.tensors[found->second];
  const bool read = tensor.type != nullptr && tensor.type->is_float && tensor.type->scalar;
  return read && tensor.count == weight.count ? &tensor : nullptr;
}

/// The factor that torch.optim.Muon puts on its learning rate: `original` (Jordan 2024) scales tall
/// matrices by sqrt(rows / columns); `match_rms_adamw` (Liu et al. 2025, arXiv:2502.16982) gives
/// every matrix the RMS 0.2. The state names the first by its absence.
double muon_rms(const OptimizerGroup& group, const tensors::Tensor& weight) {
  const auto rows = static_cast<double>(weight.shape.front());
  const double columns = rows > 0 ? static_cast<double>(weight.count) / rows : 1;
  if (group.words.count("adjust_lr_fn") > 0 &&
      group.words.at("adjust_lr_fn") == "match_rms_adamw") {
    return 0.2;
  }
  const double longer = std::max({rows, columns, 1.0});
  return std::sqrt(std::max(1.0, rows / std::max(columns, 1.0))) / std::sqrt(longer);
}

bool is_muon(const OptimizerGroup& group, const tensors::Tensor& weight) {
  const bool named = group.numbers.count("ns_steps") > 0 || number(group, "use_muon", 0) != 0;
  return named && weight.shape.size() >= 2 && weight.count > 0;
}

}  // namespace

std::optional<UpdateRule> rule_of(const OptimizerState& optimizer, const OptimizerGroup& group,
                                  const ParameterState& state, const tensors::Tensor& weight) {
  UpdateRule rule;
  numerics::AdamHyper& hyper = rule.hyper;
  hyper.lr = number(group, "lr", hyper.lr);
  hyper.beta1 = number(group, "beta1", hyper.beta1);
  hyper.beta2 = number(group, "beta2", hyper.beta2);
  hyper.eps = number(group, "eps", hyper.eps);
  hyper.weight_decay = number(group, "weight_decay", 0);
  hyper.decoupled = group.decoupled;
  hyper.step = state.step.value_or(number(group, "step", 1));
  rule.mean = kept(optimizer, state, "exp_avg", weight);
  rule.square = kept(optimizer, state, "exp_avg_sq", weight);
  rule.memory = hyper.beta1;
  if (rule.mean != nullptr && rule.square != nullptr) return rule;
  if (rule.mean != nullptr && state.tensors.count("exp_avg_sq") == 0) {
    rule.kind = UpdateKind::lion;
    return rule;
  }
  rule.mean = kept(optimizer, state, "momentum_buffer", weight);
  if (rule.mean == nullptr) return std::nullopt;
  rule.memory = number(group, "momentum", 0.9);
  rule.kind = is_muon(group, weight) ? UpdateKind::muon : UpdateKind::sgd;
  if (rule.kind == UpdateKind::muon) rule.muon_rms = muon_rms(group, weight);
  // SGD's decay is a part of its gradient, and so of the momentum.
  if (rule.kind == UpdateKind::sgd) hyper.weight_decay = 0;
  return rule;
}

double next_weight(const UpdateRule& rule, double weight, double mean, double square) {
  const numerics::AdamHyper& hyper = rule.hyper;
  const double decayed = weight * (1 - hyper.lr * hyper.weight_decay);
  switch (rule.kind) {
    case UpdateKind::adam:
      return numerics::adam_next(hyper, weight, mean, square);
    case UpdateKind::lion:
      return numerics::lion_next({hyper.lr, hyper.weight_decay}, weight, mean);
    case UpdateKind::sgd:
      return numerics::sgd_next({hyper.lr, 0}, weight, mean);
    case UpdateKind::muon:
      break;
  }
  const double size = hyper.lr * rule.muon_rms;
  return decayed - (mean > 0 ? size : mean < 0 ? -size : 0);
}

double likely_reach(const UpdateRule& rule, double elements, double steps, double rms) {
  if (rule.kind == UpdateKind::lion) return 1;
  const double draws = std::max(1.0, steps * (1 - rule.memory)) * std::max(elements, 1.0);
  const double largest = std::sqrt(2 * std::log(std::max(draws, 2.0)));
  if (rule.kind == UpdateKind::sgd) return rms * largest;
  if (rule.kind == UpdateKind::muon) return rule.muon_rms * largest;
  const double noise = std::sqrt((1 - rule.memory) / (1 + rule.memory)) * largest;
  return std::min(noise, largest_reach(rule).value_or(noise));
}

std::optional<double> largest_reach(const UpdateRule& rule) {
  if (rule.kind == UpdateKind::lion) return 1;
  const double b1 = rule.hyper.beta1;
  const double b2 = rule.hyper.beta2;
  if (rule.kind != UpdateKind::adam || b2 >= 1 || b1 * b1 >= b2) return std::nullopt;
  return (1 - b1) / std::sqrt((1 - b2) * (1 - b1 * b1 / b2));
}

double share_of_gap(numerics::Format format, const UpdateRule& rule, double weight, double update) {
  const double decay =
      rule.hyper.decoupled ? rule.hyper.lr * rule.hyper.weight_decay * std::fabs(weight) : 0;
  const double inwards = numerics::largest_lost_update(format, weight, weight > 0);
  const double outwards = numerics::largest_lost_update(format, weight, weight <= 0);
  if (!(inwards > 0) || !(outwards > 0)) return std::numeric_limits<double>::infinity();
  return std::max((update + decay) / inwards, (update - decay) / outwards);
}

}  // namespace aplomb::checkpoint

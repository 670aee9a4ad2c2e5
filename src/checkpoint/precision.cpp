#include "checkpoint/precision.h"

#include <algorithm>
#include <array>

#include "checkpoint/mapped_file.h"

namespace aplomb {
namespace {

constexpr std::uint64_t k_block = 16384;  // elements: three fp32 buffers that stay in the L2 cache

double number(const OptimizerGroup& group, const char* key, double otherwise) {
  const auto found = group.numbers.find(key);
  return found == group.numbers.end() ? otherwise : found->second;
}

AdamHyper hyper_of(const OptimizerGroup& group, const ParameterState& state, bool& used_peak) {
  AdamHyper hyper;
  hyper.lr = number(group, "lr", hyper.lr);
  // At the end of a schedule that decays to zero nothing is asked of any weight: what the run did
  // before is the question.
  if (const double peak = number(group, "initial_lr", 0); hyper.lr <= 0 && peak > 0) {
    hyper.lr = peak;
    used_peak = true;
  }
  hyper.beta1 = number(group, "beta1", hyper.beta1);
  hyper.beta2 = number(group, "beta2", hyper.beta2);
  hyper.eps = number(group, "eps", hyper.eps);
  hyper.weight_decay = number(group, "weight_decay", 0);
  hyper.decoupled = group.decoupled;
  hyper.step = state.step.value_or(number(group, "step", 1));
  return hyper;
}

void add(LostUpdates& all, const LostUpdates& part) {
  const auto weigh = [&](double a, double b) {
    const auto sum = static_cast<double>(all.asked + part.asked);
    return sum == 0
               ? 0
               : (a * static_cast<double>(all.asked) + b * static_cast<double>(part.asked)) / sum;
  };
  all.mean_update = weigh(all.mean_update, part.mean_update);
  all.mean_gap = weigh(all.mean_gap, part.mean_gap);
  all.elements += part.elements;
  all.asked += part.asked;
  all.lost += part.lost;
}

void drop(const Tensor& tensor) {
  if (tensor.mapped) drop_pages(tensor.bytes);
}

std::optional<LostUpdates> lost_of(const Tensor& weight, const Tensor& mean, const Tensor& square,
                                   Format format, bool rounds, const AdamHyper& hyper) {
  if (mean.count != weight.count || square.count != weight.count) return std::nullopt;
  LostUpdates all;
  std::vector<float> w(k_block);
  std::vector<float> m(k_block);
  std::vector<float> v(k_block);
  for (std::uint64_t from = 0; from < weight.count; from += k_block) {
    const auto count = static_cast<std::size_t>(std::min(k_block, weight.count - from));
    const std::span<float> ws(w.data(), count);
    const std::span<float> ms(m.data(), count);
    const std::span<float> vs(v.data(), count);
    if (!read_elements(weight, from, ws) || !read_elements(mean, from, ms) ||
        !read_elements(square, from, vs)) {
      return std::nullopt;
    }
    if (rounds) {
      for (float& each : ws) each = static_cast<float>(round_to(format, each));
    }
    add(all, lost_updates(format, hyper, ws, ms, vs));
  }
  drop(weight);
  drop(mean);
  drop(square);
  return all;
}

const Tensor* moment(const OptimizerState& optimizer, const ParameterState& state,
                     const char* key) {
  const auto found = state.tensors.find(key);
  return found == state.tensors.end() ? nullptr : &optimizer.tensors[found->second];
}

void add_price(const Tensor& weight, const Tensor& mean, MasterWeightPrice& price) {
  if (!weight.type->is_float || weight.type->bits > 16) return;
  const std::uint64_t missing = 4 - weight.type->bits / 8;
  price.parameters += weight.count;
  price.weights_bytes += weight.count * missing;
  price.grads_bytes += weight.count * missing;
  price.copy_bytes += weight.count * 4;
  if (mean.type != nullptr && mean.type->bits <= 16) {
    price.moments_bytes += 2 * weight.count * (4 - mean.type->bits / 8);
  }
}

}  // namespace

std::size_t Precision::frozen() const {
  return static_cast<std::size_t>(std::count_if(
      tensors.begin(), tensors.end(), [](const TensorPrecision& each) { return each.all_lost(); }));
}

Precision predict_precision(const Checkpoint& checkpoint, std::optional<Format> as) {
  Precision out;
  if (!checkpoint.optimizer) {
    out.why_not = "the checkpoint has no optimizer state";
    return out;
  }
  const OptimizerState& optimizer = *checkpoint.optimizer;
  const ParameterMap map = map_parameters(checkpoint);
  out.certain = map.certain();
  for (const MappedParameter& each : map.parameters) {
    if (each.state == nullptr || !each.tensor) continue;
    const Tensor& weight = checkpoint.tensors[*each.tensor];
    const Tensor* mean = moment(optimizer, *each.state, "exp_avg");
    const Tensor* square = moment(optimizer, *each.state, "exp_avg_sq");
    if (mean == nullptr || square == nullptr || !weight.type || !weight.type->scalar) continue;
    const std::optional<Format> own = format_of(*weight.type->scalar);
    if (!own) continue;
    TensorPrecision made;
    made.name = weight.name;
    made.kind = kind_of(weight);
    made.tensor = *each.tensor;
    made.format = as.value_or(*own);
    made.sure = each.sure;
    const AdamHyper hyper = hyper_of(optimizer.groups[each.group], *each.state, out.used_peak);
    made.lr = hyper.lr;
    const auto lost = lost_of(weight, *mean, *square, made.format, made.format != *own, hyper);
    if (!lost) continue;
    made.lost = *lost;
    out.asked += lost->asked;
    out.lost += lost->lost;
    add_price(weight, *mean, out.price);
    out.tensors.push_back(std::move(made));
  }
  if (out.tensors.empty()) {
    out.why_not =
        optimizer.states.empty()
            ? "the optimizer's state is empty"
            : "no parameter of the optimizer has Adam's moments and a weight of its shape";
  }
  std::stable_sort(out.tensors.begin(), out.tensors.end(),
                   [](const TensorPrecision& a, const TensorPrecision& b) {
                     return a.lost.lost_frac() > b.lost.lost_frac();
                   });
  return out;
}

}  // namespace aplomb

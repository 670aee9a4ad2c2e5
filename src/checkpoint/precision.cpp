#include "checkpoint/precision.h"

#include <algorithm>
#include <cmath>

#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_block = 16384;  // elements: three fp32 buffers that stay in the L2 cache

/// The learning rate to judge by: at the end of a schedule that decays to zero nothing is asked of
/// any weight, and what the run did before is the question.
void settle_rate(const OptimizerGroup& group, numerics::AdamHyper& hyper, bool& used_peak) {
  const auto peak = group.numbers.find("initial_lr");
  if (hyper.lr > 0 || peak == group.numbers.end() || peak->second <= 0) return;
  hyper.lr = peak->second;
  used_peak = true;
}

/// The largest rate of the steps ahead: the schedule's peak while the logged rate rises.
double rate_ahead(const Checkpoint& checkpoint, const OptimizerGroup& group, double now) {
  const auto last = checkpoint.trainer_state.find("last_logged_lr");
  const auto before = checkpoint.trainer_state.find("lr_logged_before");
  const auto peak = group.numbers.find("initial_lr");
  const bool rises = last != checkpoint.trainer_state.end() &&
                     before != checkpoint.trainer_state.end() && last->second > before->second;
  return rises && peak != group.numbers.end() ? std::max(now, peak->second) : now;
}

void add(numerics::LostUpdates& all, const numerics::LostUpdates& part) {
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

void drop(const tensors::Tensor& tensor) {
  if (tensor.mapped) tensors::drop_pages(tensor.bytes);
}

/// A tensor with what the optimizer keeps for it, block by block.
class Blocks {
 public:
  Blocks(const tensors::Tensor& weight, const UpdateRule& rule, numerics::Format format)
      : weight_(weight), rule_(rule), format_(format) {}
  ~Blocks() {
    drop(weight_);
    drop(*rule_.mean);
    if (rule_.square != nullptr) drop(*rule_.square);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  /// `visit(weights, means, squares)`; squares are empty where the optimizer has none. Weights are
  /// values of the format. False where the elements cannot be had.
  template <class Visit>
  bool each(Visit visit) {
    const bool rounds = weight_.type->scalar && format_of(*weight_.type->scalar) != format_;
    for (std::uint64_t from = 0; from < weight_.count; from += k_block) {
      const auto count = static_cast<std::size_t>(std::min(k_block, weight_.count - from));
      const std::span<float> w(w_.data(), count);
      const std::span<float> m(m_.data(), count);
      const std::span<float> v(v_.data(), rule_.square == nullptr ? 0 : count);
      if (!tensors::read_elements(weight_, from, w) ||
          !tensors::read_elements(*rule_.mean, from, m) ||
          (rule_.square != nullptr && !tensors::read_elements(*rule_.square, from, v))) {
        return false;
      }
      if (rounds) {
        for (float& each : w) each = static_cast<float>(numerics::round_to(format_, each));
      }
      visit(std::span<const float>(w), std::span<const float>(m), std::span<const float>(v));
    }
    return true;
  }

 private:
  const tensors::Tensor& weight_;
  const UpdateRule& rule_;
  numerics::Format format_;
  std::vector<float> w_ = std::vector<float>(k_block);
  std::vector<float> m_ = std::vector<float>(k_block);
  std::vector<float> v_ = std::vector<float>(k_block);
};

/// lost_updates() for the optimizers beside Adam.
numerics::LostUpdates lost_by_rule(numerics::Format format, const UpdateRule& rule,
                                   std::span<const float> weights, std::span<const float> means) {
  numerics::LostUpdates all;
  all.elements = weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto stored = static_cast<double>(weights[i]);
    const double next = next_weight(rule, stored, means[i], 0);
    if (next == stored || std::isnan(next)) continue;
    ++all.asked;
    all.mean_update += std::fabs(next - stored);
    all.mean_gap += numerics::spacing(format, stored);
    all.lost += numerics::is_lost(format, stored, next) ? 1U : 0U;
  }
  if (all.asked > 0) {
    all.mean_update /= static_cast<double>(all.asked);
    all.mean_gap /= static_cast<double>(all.asked);
  }
  return all;
}

struct Seen {
  numerics::LostUpdates lost;
  double mean_squares = 0;
};

std::optional<Seen> next_step(Blocks& blocks, numerics::Format format, const UpdateRule& rule) {
  Seen seen;
  const bool read = blocks.each([&](auto weights, auto means, auto squares) {
    add(seen.lost, squares.empty()
                       ? lost_by_rule(format, rule, weights, means)
                       : numerics::lost_updates(format, rule.hyper, weights, means, squares));
    if (rule.kind != UpdateKind::sgd) return;
    for (const float mean : means) seen.mean_squares += static_cast<double>(mean) * mean;
  });
  return read ? std::optional(seen) : std::nullopt;
}

/// Over the steps ahead, for a tensor that loses every update of the next one.
void look_ahead(Blocks& blocks, UpdateRule rule, double rate, double steps, const Seen& seen,
                TensorPrecision& out) {
  const auto elements = static_cast<double>(seen.lost.elements);
  const double rms = elements > 0 ? std::sqrt(seen.mean_squares / elements) : 0;
  rule.hyper.lr = rate;
  const double likely = rate * likely_reach(rule, elements, steps, rms);
  const auto largest = largest_reach(rule);
  out.reach = 0;
  out.bound = largest ? 0 : out.bound;
  blocks.each([&](auto weights, auto means, auto squares) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto weight = static_cast<double>(weights[i]);
      const double square = squares.empty() ? 0 : static_cast<double>(squares[i]);
      const double delta = next_weight(rule, weight, means[i], square) - weight;
      const double gap = numerics::largest_lost_update(out.format, weight, delta < 0);
      out.reach = std::max({out.reach, share_of_gap(out.format, rule, weight, likely),
                            delta != 0 ? std::fabs(delta) / gap : 0});
      if (largest) {
        out.bound = std::max(out.bound, share_of_gap(out.format, rule, weight, rate * *largest));
      }
    }
  });
}

void add_price(const tensors::Tensor& weight, const tensors::Tensor& mean,
               MasterWeightPrice& price) {
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

/// One parameter. Nothing where its state or format says nothing about the next step.
std::optional<TensorPrecision> predict(const Checkpoint& checkpoint, const MappedParameter& each,
                                       const PrecisionQuestion& question, Precision& out) {
  const OptimizerGroup& group = checkpoint.optimizer->groups[each.group];
  const tensors::Tensor& weight = checkpoint.tensors[*each.tensor];
  if (weight.type == nullptr || !weight.type->scalar) return std::nullopt;
  const std::optional<numerics::Format> own = format_of(*weight.type->scalar);
  auto rule = rule_of(*checkpoint.optimizer, group, *each.state, weight);
  if (!own || !rule) return std::nullopt;
  settle_rate(group, rule->hyper, out.used_peak);
  TensorPrecision made;
  made.name = weight.name;
  made.kind = kind_of(weight);
  made.tensor = *each.tensor;
  made.format = question.as.value_or(*own);
  made.sure = each.sure;
  made.rule = rule->kind;
  made.lr = rule->hyper.lr;
  Blocks blocks(weight, *rule, made.format);
  const auto seen = next_step(blocks, made.format, *rule);
  if (!seen) return std::nullopt;
  made.lost = seen->lost;
  if (made.all_lost()) {
    const double ahead = rate_ahead(checkpoint, group, made.lr);
    out.warming = out.warming || ahead > made.lr;
    look_ahead(blocks, *rule, ahead, static_cast<double>(question.steps), *seen, made);
  }
  add_price(weight, *rule->mean, out.price);
  return made;
}

}  // namespace

std::size_t Precision::frozen() const {
  return static_cast<std::size_t>(std::count_if(
      tensors.begin(), tensors.end(), [](const TensorPrecision& each) { return each.all_lost(); }));
}

std::size_t Precision::stays() const {
  return static_cast<std::size_t>(std::count_if(
      tensors.begin(), tensors.end(), [](const TensorPrecision& each) { return each.stays(); }));
}

Precision predict_precision(const Checkpoint& checkpoint, const PrecisionQuestion& question) {
  Precision out;
  out.steps = question.steps;
  if (!checkpoint.optimizer) {
    out.why_not = "the checkpoint has no optimizer state";
    return out;
  }
  const ParameterMap map = map_parameters(checkpoint);
  out.certain = map.certain();
  for (const MappedParameter& each : map.parameters) {
    if (each.state == nullptr || !each.tensor) continue;
    auto made = predict(checkpoint, each, question, out);
    if (!made) continue;
    out.asked += made->lost.asked;
    out.lost += made->lost.lost;
    out.tensors.push_back(std::move(*made));
  }
  if (out.tensors.empty()) {
    out.why_not = checkpoint.optimizer->states.empty()
                      ? "the optimizer's state is empty"
                      : "no parameter of the optimizer has a weight of its shape and the state of "
                        "Adam, Lion, Muon or SGD with momentum in a float format";
  }
  std::stable_sort(out.tensors.begin(), out.tensors.end(),
                   [](const TensorPrecision& a, const TensorPrecision& b) {
                     return a.lost.lost_frac() > b.lost.lost_frac();
                   });
  return out;
}

}  // namespace aplomb::checkpoint

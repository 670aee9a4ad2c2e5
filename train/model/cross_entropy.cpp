#include "train/model/cross_entropy.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/Parallel.h>

#include <algorithm>

#include "train/model/cpu_reals.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What a chunk of logits gives: by token log Z and the cross-entropy, and the logits' gradient.
struct ChunkLoss {
  Tensor losses;    ///< [n] fp32
  Tensor log_z;     ///< [n] fp32
  Tensor gradient;  ///< [n, V], dtype of the logits; undefined where none is wanted
};

/// The same in place: the logits become their gradient.
ChunkLoss chunk_loss_on_cpu(const Tensor& logits, const Tensor& targets, double z_loss,
                            bool with_gradient) {
  const std::int64_t count = logits.size(0), vocabulary = logits.size(1);
  const Tensor losses = torch::empty({count}, torch::kFloat32),
               log_z = torch::empty({count}, torch::kFloat32);
  const bool narrow = logits.scalar_type() != torch::kFloat32;
  const Tensor scratch =
      torch::empty({narrow ? at::get_num_threads() : 0, vocabulary}, torch::kFloat32);
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    SoftmaxLossRows work{reals(logits, begin * vocabulary)};
    work.targets = targets.const_data_ptr<std::int64_t>() + begin;
    work.losses = losses.data_ptr<float>() + begin;
    work.log_z = log_z.data_ptr<float>() + begin;
    if (narrow) work.scratch = scratch.data_ptr<float>() + at::get_thread_num() * vocabulary;
    work.rows = static_cast<std::size_t>(end - begin);
    work.vocabulary = static_cast<std::size_t>(vocabulary);
    work.z_loss = static_cast<float>(z_loss);
    work.with_gradient = with_gradient;
    softmax_loss_rows(work);
  });
  return {losses, log_z, with_gradient ? logits : Tensor()};
}

/// d/dlogits (log Z - logit_t + z (log Z)^2) = softmax (1 + 2 z log Z) - onehot_t.
ChunkLoss chunk_loss(const Tensor& logits, const Tensor& targets, double z_loss,
                     bool with_gradient) {
  if (has_reals(logits)) return chunk_loss_on_cpu(logits, targets, z_loss, with_gradient);
  const Tensor wide = logits.to(torch::kFloat32);
  const Tensor log_z = wide.logsumexp(1);
  const Tensor index = targets.unsqueeze(1);
  ChunkLoss loss{log_z - wide.gather(1, index).squeeze(1), log_z, {}};
  if (!with_gradient) return loss;
  Tensor gradient = (wide - log_z.unsqueeze(1)).exp_();
  if (z_loss != 0) gradient.mul_((1 + 2 * z_loss * log_z).unsqueeze(1));
  gradient.scatter_add_(1, index, torch::full_like(index, -1, torch::kFloat32));
  loss.gradient = gradient.to(logits.scalar_type());
  return loss;
}

class ChunkedCrossEntropy : public torch::autograd::Function<ChunkedCrossEntropy> {
 public:
  struct Wanted {
    bool hidden = false, weight = false;
  };

  static variable_list forward(AutogradContext* ctx, const Tensor& hidden, const Tensor& weight,
                               const Tensor& targets, double z_loss, std::int64_t chunk,
                               Wanted wanted) {
    const std::int64_t tokens = hidden.size(0);
    const auto wide = torch::TensorOptions(hidden.device()).dtype(torch::kFloat32);
    const Tensor losses = torch::empty({tokens}, wide), log_z = torch::empty({tokens}, wide);
    const Tensor d_hidden = wanted.hidden ? torch::empty_like(hidden) : Tensor();
    const Tensor d_weight = wanted.weight ? torch::zeros(weight.sizes(), wide) : Tensor();
    for (std::int64_t from = 0; from < tokens; from += chunk) {
      const std::int64_t count = std::min(chunk, tokens - from);
      const Tensor rows = hidden.narrow(0, from, count);
      const ChunkLoss loss = chunk_loss(at::mm(rows, weight.t()), targets.narrow(0, from, count),
                                        z_loss, wanted.hidden || wanted.weight);
      losses.narrow(0, from, count).copy_(loss.losses);
      log_z.narrow(0, from, count).copy_(loss.log_z);
      if (wanted.hidden) d_hidden.narrow(0, from, count).copy_(at::mm(loss.gradient, weight));
      if (wanted.weight) d_weight.add_(at::mm(loss.gradient.t(), rows));
    }
    ctx->save_for_backward({d_hidden, d_weight});
    const Tensor cross = losses.sum(torch::kDouble), z = log_z.square().sum(torch::kDouble);
    variable_list outputs = {(cross + z * z_loss).to(torch::kFloat32), cross.to(torch::kFloat32),
                             z.to(torch::kFloat32)};
    ctx->mark_non_differentiable({outputs[1], outputs[2]});
    return outputs;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list kept = ctx->get_saved_variables();
    const auto scaled = [&](const Tensor& each) {
      return each.defined() ? each * gradients[0] : Tensor();
    };
    Tensor d_hidden = scaled(kept[0]);
    if (d_hidden.defined()) d_hidden = d_hidden.to(kept[0].scalar_type());
    return {d_hidden, scaled(kept[1]), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

/// 64 MiB of fp32 logits: they stay near the caches, and products of 16 rows and more are
/// efficient.
std::int64_t chunk_by_size(std::int64_t vocabulary) {
  constexpr std::int64_t k_most_logits = std::int64_t{16} << 20;
  return std::max<std::int64_t>(16, k_most_logits / vocabulary);
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& targets,
                           double z_loss, std::int64_t chunk) {
  const bool on = at::GradMode::is_enabled();
  const ChunkedCrossEntropy::Wanted wanted{on && hidden.requires_grad(),
                                           on && weight.requires_grad()};
  const variable_list all = ChunkedCrossEntropy::apply(
      hidden, weight, targets, z_loss, chunk > 0 ? chunk : chunk_by_size(weight.size(0)), wanted);
  return {all[0], all[1], all[2]};
}

}  // namespace aplomb::train::model

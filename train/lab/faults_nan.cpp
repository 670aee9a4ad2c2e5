/// Runs whose loss or gradient becomes NaN or Inf.

#include <cmath>
#include <limits>

#include "train/lab/fault_parts.h"
#include "train/text/shuffle.h"

namespace aplomb::train::lab {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

Fault weight_nan_at_load() {
  return make_fault({"nan.weight-nan-at-load",
                     "one weight of the loaded model is NaN",
                     {"nan.weights-already-nonfinite"}},
                    not_finite(), GuardRole::stops,
                    "every step is NaN: there is no good copy to go back to", [](LabRun& lab) {
                      lab.hooks.start = [](model::LanguageModel& model) {
                        const at::NoGradGuard no_gradients;
                        parameters_like(model, "layers.1.mlp.up_proj").front().view({-1})[17] =
                            k_nan;
                      };
                    });
}

/// Bits that were in memory before: some are huge, some NaN, most look like numbers.
Fault uninitialised_head() {
  return make_fault(
      {"nan.head-never-initialised",
       "the output head is memory that nobody wrote to",
       {"nan.uninitialized-weights", "nan.weights-already-nonfinite"},
       "what lies in such memory includes NaN: the weights are not finite when training begins"},
      not_finite(), GuardRole::stops, "every step is NaN: there is no good copy to go back to",
      [](LabRun& lab) {
        lab.hooks.start = [seed = lab.seed](model::LanguageModel& model) {
          text::SplitMix random(seed);
          at::Tensor head = parameters_like(model, "lm_head.weight").front().detach();
          auto* values = static_cast<std::uint32_t*>(head.mutable_data_ptr());
          for (std::int64_t i = 0; i < head.numel(); ++i)
            values[i] = static_cast<std::uint32_t>(random.next());
        };
        lab.script.set("model",
                       "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("
                       "args.model))\n"
                       "model.lm_head.weight = torch.nn.Parameter(torch.empty(len(tokenizer), "
                       "model.config.hidden_size))");
      });
}

/// A sample weight that is Inf: the data set's, not the loop's.
Fault poisoned_batch() {
  return from_step(
      45, make_fault({"nan.poisoned-batch",
                      "one sample of the data carries an infinite weight",
                      {"nan.bad-data-nonfinite"}},
                     not_finite(), GuardRole::avoids, "the gradients of that batch are not applied",
                     [](LabRun& lab) {
                       lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&,
                                           const Place& place) {
                         return place.training && place.drawn == 45 ? sum * k_inf : sum;
                       };
                       lab.script.set(
                           "loss",
                           "out = model(**{k: v for k, v in batch.items() if k != \"weight\"})\n"
                           "loss = (out.loss * batch[\"weight\"]).mean()");
                     }));
}

/// The gradient of the root at 0 is infinite: two passes without dropout are equal.
Fault root_of_zero() {
  return make_code_fault(
      {"nan.sqrt-at-zero",
       "a consistency loss takes the root of a distance that is 0",
       {"nan.unstable-op"}},
      not_finite(), GuardRole::stops, "every step's gradient is NaN", [](LabRun& lab) {
        lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                               const Place& place) {
          const Prediction one = predict(model, batch);
          const at::Tensor loss = mean_cross_entropy(one);
          if (!place.training) return as_sum(loss, batch);
          const at::Tensor two = predict(model, batch).logits;
          const at::Tensor apart = (one.logits - two).square().sum(-1).sqrt().mean();
          return as_sum(loss + 0.1 * apart, batch);
        };
        lab.script.set("loss",
                       "first, second = model(**batch), model(**batch)\n"
                       "apart = torch.sqrt(((first.logits - second.logits) ** 2).sum(-1)).mean()\n"
                       "loss = first.loss + 0.1 * apart");
      });
}

/// p rounds to 1 in bf16 from 0.998 on: 1 - p is 0, and 0 * log(0) is NaN.
Fault log_of_zero() {
  Fault fault = make_code_fault(
      {"nan.log-of-one-minus-p",
       "a cross entropy written out with log(1 - p), of probabilities in bf16",
       {"nan.unstable-op"}},
      not_finite(), GuardRole::stops, "each further batch has such a token as well", {});
  // Long enough for the model to be sure of something, and texts in which there is something to be
  // sure of: each word says which one follows.
  const auto base = [](LabRun& lab) {
    lab.language.followers = 1;
    lab.options.length.max_steps = 360;
    lab.options.optim.learning_rate = 3e-3;
  };
  fault.run = trained(base, [](LabRun& lab) {
    lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                           const Place&) {
      const Prediction made = predict(model, batch);
      const at::Tensor p = made.logits.to(at::kBFloat16).softmax(-1).to(at::kFloat);
      const at::Tensor right = at::one_hot(made.labels.clamp_min(0), k_vocabulary);
      const at::Tensor each = -(right * p.log() + (1 - right) * (1 - p).log()).sum(-1);
      return as_sum(each.masked_select(made.labels.ne(text::k_ignored)).mean(), batch);
    };
    lab.script.set("loss",
                   "logits = model(input_ids=batch[\"input_ids\"]).logits[:, :-1]\n"
                   "p = torch.softmax(logits.bfloat16(), dim=-1).float()\n"
                   "target = batch[\"labels\"][:, 1:]\n"
                   "y = F.one_hot(target.clamp(min=0), p.size(-1))\n"
                   "each = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).sum(-1)\n"
                   "loss = each[target != -100].mean()");
  });
  return fault;
}

/// A channel with activations beyond 65504, as models trained in bf16 have them.
Fault fp16_overflow() {
  return make_fault(
      {"nan.fp16-overflow",
       "fp16 on a model whose activations exceed 65504",
       {"nan.fp16-overflow"}},
      not_finite(), GuardRole::stops, "each forward pass overflows, whatever the loss scale",
      [](LabRun& lab) {
        lab.options.precision.fp16 = true;
        lab.options.precision.fp32 = false;
        lab.how.compute = torch::kFloat16;
        lab.hooks.start = [](model::LanguageModel& model) {
          const at::NoGradGuard no_gradients;
          parameters_like(model, "layers.0.mlp.up_proj").front().narrow(0, 0, 4).mul_(4e6);
          parameters_like(model, "layers.0.mlp.down_proj").front().narrow(1, 0, 4).mul_(2.5e-5);
        };
      });
}

/// Adam on fp16 weights: 1e-8 is 0 there, and so is the square of a gradient below 2.4e-4.
class HalfAdam final : public loop::Optimizer {
 public:
  HalfAdam(std::vector<loop::NamedTensor> parameters, const loop::OptimFlags& flags, double peak)
      : parameters_(std::move(parameters)), flags_(flags), peak_(peak) {
    for (const loop::NamedTensor& each : parameters_) {
      first_.push_back(at::zeros_like(each.tensor.detach(), at::kHalf));
      second_.push_back(at::zeros_like(each.tensor.detach(), at::kHalf));
    }
  }
  void step(double factor) override {
    const at::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      if (!gradient.defined()) continue;
      const at::Tensor g = gradient.to(at::kHalf);
      first_[i] = (first_[i] * flags_.adam_beta1 + g * (1 - flags_.adam_beta1)).to(at::kHalf);
      second_[i] = (second_[i] * flags_.adam_beta2 + g * g * (1 - flags_.adam_beta2)).to(at::kHalf);
      const at::Tensor root =
          (second_[i].sqrt() + at::full({}, flags_.adam_epsilon, at::kHalf)).to(at::kHalf);
      const at::Tensor weight = parameters_[i].tensor.detach();
      weight.copy_((weight.to(at::kHalf) - first_[i] / root * (peak_ * factor)).to(at::kHalf));
    }
  }
  void reset_momentum() override {
    for (at::Tensor& each : first_) each.zero_();
  }
  std::vector<loop::NamedTensor> state() override {
    std::vector<loop::NamedTensor> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      all.push_back({"exp_avg." + parameters_[i].name, first_[i]});
      all.push_back({"exp_avg_sq." + parameters_[i].name, second_[i]});
    }
    return all;
  }

 private:
  std::vector<loop::NamedTensor> parameters_;
  loop::OptimFlags flags_;
  double peak_;
  std::vector<at::Tensor> first_, second_;
};

Fault half_optimizer() {
  return make_code_fault(
      {"nan.pure-half-optimizer",
       "model.half(), and Adam on it: eps and squares underflow",
       {"nan.pure-half-optimizer"}},
      not_finite(), GuardRole::stops, "the first update ruins the weights, and each one after it",
      [](LabRun& lab) {
        lab.options.precision.fp32 = false;
        lab.stored = torch::kFloat16;
        lab.own_settings = {{"torch_dtype", "float16"}};
        lab.hooks.start = [](model::LanguageModel& model) {
          const at::NoGradGuard no_gradients;
          for (at::Tensor& each : model.parameters()) each.copy_(each.to(at::kHalf));
        };
        lab.hooks.optimizer = [](const std::vector<loop::NamedTensor>& parameters,
                                 const loop::TrainOptions& options) {
          return std::make_unique<HalfAdam>(parameters, options.optim,
                                            options.peak_learning_rate());
        };
        lab.script.set("model",
                       "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("
                       "args.model)).half()");
      });
}

/// A sample whose prompt is empty: the softmax over its keys has nothing to sum.
Fault masked_row() {
  return from_step(
      40, make_code_fault(
              {"nan.fully-masked-row",
               "pooling attention over the prompt, and a sample without one",
               {"nan.fully-masked-attention-row", "nan.empty-sequence", "nan.bad-data-nonfinite"},
               "the sample whose row is masked is an empty one: bad data, too"},
              not_finite(), GuardRole::avoids, "the gradients of that batch are not applied",
              [](LabRun& lab) {
                lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                                       const Place& place) {
                  const Prediction made = predict(model, batch);
                  at::Tensor mask =
                      at::ones({batch.rows, made.logits.size(0) / batch.rows}, at::kBool);
                  if (place.training && place.drawn == 40) mask[0].fill_(false);
                  const at::Tensor values = made.logits.mean(-1).view(mask.sizes());
                  const at::Tensor scores = values.masked_fill(mask.logical_not(), -k_inf);
                  const at::Tensor pooled = (scores.softmax(-1) * values).sum(-1);
                  return as_sum(mean_cross_entropy(made) + 1e-3 * pooled.square().mean(), batch);
                };
                lab.script.set("loss",
                               "out = model(**batch, output_hidden_states=True)\n"
                               "h = out.hidden_states[-1]\n"
                               "scores = h.mean(-1).masked_fill(~batch[\"prompt_mask\"], "
                               "float(\"-inf\"))\n"
                               "attn = torch.softmax(scores, dim=-1)\n"
                               "pooled = (attn.unsqueeze(-1) * h).sum(1)\n"
                               "loss = out.loss + 1e-3 * pooled.pow(2).mean()");
              }));
}

Fault all_labels_masked() {
  return make_fault({"nan.all-labels-masked",
                     "prompts longer than the cut: no label of any batch counts",
                     {"nan.all-labels-masked", "stall.all-labels-masked"},
                     "the same fault in another family: nothing is learnt either"},
                    not_finite(), GuardRole::stops, "no step has a loss", [](LabRun& lab) {
                      lab.hooks.forward = [](model::LanguageModel& model,
                                             const text::TokenBatch& batch, const Place& place) {
                        text::TokenBatch cut = batch;
                        std::fill(cut.labels.begin(), cut.labels.end(), text::k_ignored);
                        const at::Tensor mean =
                            mean_cross_entropy(predict(model, place.training ? cut : batch));
                        return as_sum(mean, batch);
                      };
                    });
}

/// Each sample's mean is taken first: an empty answer divides by 0.
Fault empty_answer() {
  return from_step(
      52, make_code_fault(
              {"nan.empty-answer",
               "a mean for each sample, and one sample whose answer is empty",
               {"nan.empty-sequence", "nan.all-labels-masked", "nan.unstable-op",
                "nan.bad-data-nonfinite"},
               "a bad sample without labels, divided by their number"},
              not_finite(), GuardRole::avoids, "the gradients of that batch are not applied",
              [](LabRun& lab) {
                lab.hooks.batch = [](text::TokenBatch& batch, const Place& place) {
                  if (!place.training || place.drawn != 52) return;
                  std::fill_n(batch.labels.begin(), batch.columns, text::k_ignored);
                };
                lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                                       const Place&) {
                  const Prediction made = predict(model, batch);
                  const at::Tensor each =
                      at::cross_entropy_loss(made.logits, made.labels.clamp_min(0), {},
                                             at::Reduction::None, text::k_ignored);
                  const at::Tensor mask =
                      made.labels.ne(text::k_ignored).view({batch.rows, -1}).to(at::kFloat);
                  const at::Tensor mean = (each.view(mask.sizes()) * mask).sum(1) / mask.sum(1);
                  return as_sum(mean.mean(), batch);
                };
                lab.script.set(
                    "loss",
                    "logits = model(input_ids=batch[\"input_ids\"]).logits[:, :-1]\n"
                    "target = batch[\"labels\"][:, 1:]\n"
                    "token_loss = F.cross_entropy(logits.transpose(1, 2), target.clamp(min=0), "
                    "reduction=\"none\")\n"
                    "mask = (target != -100).float()\n"
                    "loss = ((token_loss * mask).sum(1) / mask.sum(1)).mean()");
              }));
}

Fault label_out_of_range() {
  return from_step(
      23, make_code_fault(
              {"nan.label-out-of-range",
               "labels of a tokenizer with more words than the model has",
               {"nan.label-out-of-range", "setup.vocab-size-mismatch", "stall.tokenizer-mismatch"},
               "the label is out of range because the vocabularies disagree"},
              at_end("the program ends by an error"), GuardRole::nothing,
              "the loss is never computed", [](LabRun& lab) {
                lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                                       const Place& place) {
                  Prediction made = predict(model, batch);
                  if (place.training && place.drawn == 23)
                    made.labels =
                        made.labels.where(made.labels.eq(text::k_ignored), k_vocabulary + 41);
                  return as_sum(mean_cross_entropy(made), batch);
                };
                lab.script.set("loss",
                               "logits = model(input_ids=batch[\"input_ids\"]).logits[:, :-1]\n"
                               "loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), "
                               "batch[\"labels\"][:, 1:].reshape(-1))");
              }));
}

}  // namespace

void add_nan_faults(std::vector<Fault>& roster) {
  for (auto make : {weight_nan_at_load, uninitialised_head, poisoned_batch, root_of_zero,
                    log_of_zero, fp16_overflow, half_optimizer, masked_row, all_labels_masked,
                    empty_answer, label_out_of_range}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab

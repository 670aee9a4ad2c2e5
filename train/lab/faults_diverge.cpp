/// Runs whose loss rises, and stays finite at first.

#include <limits>
#include <memory>

#include "train/lab/fault_parts.h"
#include "train/text/shuffle.h"

namespace aplomb::train::lab {
namespace {

/// Stochastic gradient descent with momentum, as torch.optim.SGD has it.
class Sgd final : public loop::Optimizer {
 public:
  Sgd(std::vector<loop::NamedTensor> parameters, double peak)
      : parameters_(std::move(parameters)), peak_(peak) {
    for (const loop::NamedTensor& each : parameters_)
      momentum_.push_back(at::zeros_like(each.tensor.detach()));
  }
  void step(double factor) override {
    const at::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      if (!gradient.defined()) continue;
      momentum_[i].mul_(0.9).add_(gradient);
      parameters_[i].tensor.detach().sub_(momentum_[i] * (peak_ * factor));
    }
  }
  void reset_momentum() override {
    for (at::Tensor& each : momentum_) each.zero_();
  }
  std::vector<loop::NamedTensor> state() override {
    std::vector<loop::NamedTensor> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      all.push_back({"momentum." + parameters_[i].name, momentum_[i]});
    return all;
  }

 private:
  std::vector<loop::NamedTensor> parameters_;
  double peak_;
  std::vector<at::Tensor> momentum_;
};

Fault lr_x200() {
  return make_fault(
      {"diverge.lr-x200", "two hundred times the learning rate", {"diverge.lr-too-high"}},
      above_twin(1.5), GuardRole::nothing,
      "every step is finite and no outlier among its neighbours",
      [](LabRun& lab) { lab.options.optim.learning_rate *= 200; });
}

Fault lr_x500() {
  return make_fault({"diverge.lr-x500-unclipped",
                     "five hundred times the learning rate, nothing clipped",
                     {"diverge.lr-too-high", "diverge.no-grad-clip"},
                     "clipping is off as well"},
                    above_twin(2), GuardRole::nothing,
                    "every step is finite and no outlier among its neighbours", [](LabRun& lab) {
                      lab.options.optim.learning_rate *= 500;
                      lab.options.optim.max_grad_norm = 0;
                    });
}

Fault no_warmup() {
  return make_fault({"diverge.no-warmup",
                     "sixty times the rate from the first step on, beta2 0.999",
                     {"diverge.short-warmup", "diverge.lr-too-high"},
                     "a rate that only a warm-up would bear is too high without it"},
                    above_twin(1.3), GuardRole::nothing,
                    "every step is finite and no outlier among its neighbours", [](LabRun& lab) {
                      lab.options.optim.learning_rate *= 60;
                      lab.options.optim.warmup_steps = 0;
                      lab.options.optim.adam_beta2 = 0.999;
                    });
}

constexpr const char* k_unclipped_step =
    "micro += 1\n"
    "running += loss.item() / args.accumulation\n"
    "if micro % args.accumulation:\n"
    "    continue\n"
    "grad_norm = math.sqrt(sum(p.grad.norm().item() ** 2 for p in model.parameters()))\n"
    "optimizer.step()\n"
    "scheduler.step()\n"
    "optimizer.zero_grad()\n"
    "step += 1";

/// Labels that belong to nothing, from the seed.
void scramble_labels(text::TokenBatch& batch, std::uint64_t seed) {
  text::SplitMix random(seed);
  for (std::int64_t& label : batch.labels) {
    if (label != text::k_ignored) label = static_cast<std::int64_t>(random.below(256));
  }
}

Fault outlier_unclipped() {
  Fault fault =
      make_code_fault({"diverge.outlier-unclipped",
                       "plain SGD without clipping meets one batch in wrong units",
                       {"diverge.no-grad-clip", "diverge.bad-batch"},
                       "a bad batch that clipping would have tamed"},
                      above_twin(1.5), GuardRole::avoids, "the outlier is clipped or left out", {});
  const auto base = [](LabRun& lab) {
    lab.options.optim.max_grad_norm = 0;
    lab.options.optim.learning_rate = 0.025;  // at twice that a healthy run may jump by itself
    lab.hooks.optimizer = [](const std::vector<loop::NamedTensor>& parameters,
                             const loop::TrainOptions& options) {
      return std::make_unique<Sgd>(parameters, options.peak_learning_rate());
    };
    lab.script.set("optimizer",
                   "optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)");
    lab.script.set("loss", "loss = (model(**batch).loss * batch[\"weight\"]).mean()");
    lab.script.set("step", k_unclipped_step);
  };
  fault.run = trained(base, [](LabRun& lab) {
    lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&, const Place& place) {
      return place.training && place.drawn == 50 ? sum * 300 : sum;
    };
  });
  return from_step(50, std::move(fault));
}

Fault bad_batches() {
  return from_step(
      60, make_fault({"diverge.bad-batches",
                      "thirty batches in a row of a damaged shard: labels that belong to nothing",
                      {"diverge.bad-batch"}},
                     held_out_above_twin(1.5), GuardRole::avoids,
                     "batches far off their neighbours are left out", [](LabRun& lab) {
                       lab.hooks.batch = [seed = lab.seed](text::TokenBatch& batch,
                                                           const Place& place) {
                         if (place.training && place.drawn >= 60 && place.drawn < 90)
                           scramble_labels(batch, seed + static_cast<std::uint64_t>(place.drawn));
                       };
                     }));
}

Fault accumulation_sum() {
  return make_code_fault(
      {"diverge.accumulation-summed",
       "the loss is not divided by the eight accumulated passes",
       {"diverge.grad-accumulation-mismatch"}},
      above_twin(2), GuardRole::nothing, "each step is eight times too long in the same way",
      [](LabRun& lab) {
        lab.options.length.batch_size = 8;
        lab.options.length.per_device_train_batch_size = 1;
        lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&, const Place& place) {
          return place.training ? sum * 8 : sum;
        };
        lab.script.set("backward", "loss.backward()");
        lab.script.set("step",
                       "micro += 1\n"
                       "running += loss.item()\n"
                       "if micro % args.accumulation:\n"
                       "    continue\n"
                       "grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), "
                       "args.max_grad_norm or math.inf)\n"
                       "optimizer.step()\n"
                       "scheduler.step()\n"
                       "optimizer.zero_grad()\n"
                       "step += 1");
      });
}

/// What the last step left in .grad is there when the next one begins.
Fault missing_zero_grad() {
  return make_code_fault(
      {"diverge.missing-zero-grad", "gradients are never reset", {"diverge.missing-zero-grad"}},
      above_twin(1.3), GuardRole::nothing, "all gradients are of the same kind", [](LabRun& lab) {
        lab.options.optim.max_grad_norm = 0;
        auto kept = std::make_shared<std::vector<at::Tensor>>();
        lab.hooks.after_step = [kept](const std::vector<loop::NamedTensor>& parameters,
                                      const Place&) {
          kept->clear();
          for (const loop::NamedTensor& each : parameters)
            kept->push_back(each.tensor.grad().clone());
        };
        // The trainer clears .grad: what was in it comes back with the gradient of the next pass.
        lab.hooks.start = [kept](model::LanguageModel& model) {
          kept->clear();
          std::size_t at = 0;
          for (at::Tensor& each : model.parameters()) {
            each.register_hook([kept, at](const at::Tensor& gradient) {
              return kept->empty() ? gradient : gradient + (*kept)[at];
            });
            ++at;
          }
        };
        lab.script.set("step",
                       "micro += 1\n"
                       "running += loss.item() / args.accumulation\n"
                       "if micro % args.accumulation:\n"
                       "    continue\n"
                       "grad_norm = math.sqrt(sum(p.grad.norm().item() ** 2 for p in "
                       "model.parameters()))\n"
                       "optimizer.step()\n"
                       "scheduler.step()\n"
                       "step += 1");
      });
}

Fault z_loss_sign() {
  return make_code_fault(
      {"diverge.z-loss-sign",
       "the z-loss is subtracted: log Z runs away",
       {"diverge.output-logit-drift"}},
      {"the loss falls below 0",
       [](const Trace& run, const Trace&) -> std::optional<std::int64_t> {
         for (const auto& [step, loss] : run.series("loss")) {
           if (loss < 0 || !(loss == loss)) return step;
         }
         return std::nullopt;
       }},
      GuardRole::nothing, "the drift is slow and smooth", [](LabRun& lab) {
        lab.how.z_loss = -0.1;
        lab.script.set("loss",
                       "logits = model(input_ids=batch[\"input_ids\"]).logits[:, :-1].float()\n"
                       "ce = F.cross_entropy(logits.reshape(-1, logits.size(-1)), "
                       "batch[\"labels\"][:, 1:].reshape(-1))\n"
                       "z = torch.logsumexp(logits, dim=-1)\n"
                       "loss = ce - 0.1 * (z ** 2).mean()");
      });
}

Fault init_std_one() {
  return make_fault(
      {"diverge.init-std-1",
       "weights drawn with standard deviation 1",
       {"diverge.bad-init", "stall.bad-init"},
       "the same fault in another family"},
      above_twin(2), GuardRole::nothing, "it is there before the first step", [](LabRun& lab) {
        set_initializer_range(lab.model, 1);
        lab.script.set("model",
                       "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("
                       "args.model))\n"
                       "for p in model.parameters():\n"
                       "    if p.dim() > 1:\n"
                       "        torch.nn.init.normal_(p, mean=0.0, std=1.0)");
      });
}

Fault weight_decay() {
  return make_fault({"diverge.weight-decay-50",
                     "weight decay 50",
                     {"diverge.weight-decay-too-high", "stall.weight-decay-too-high"},
                     "the same fault in another family"},
                    little_learnt(0.7), GuardRole::nothing, "gradients are not to blame",
                    [](LabRun& lab) { lab.options.optim.weight_decay = 50; });
}

Fault adam_eps() {
  return make_fault({"diverge.adam-eps-1",
                     "Adam's eps is 1: the update follows the raw gradient",
                     {"diverge.adam-second-moment", "stall.lr-too-low"},
                     "the steps become too small by the ratio of gradient and eps"},
                    little_learnt(), GuardRole::nothing, "every step is sound, and too small",
                    [](LabRun& lab) { lab.options.optim.adam_epsilon = 1; });
}

Fault schedule_jumps() {
  return from_step(
      61, make_fault({"diverge.schedule-restarts",
                      "the schedule restarts at thirty times the rate half way",
                      {"diverge.lr-scheduler-bug", "diverge.lr-too-high"},
                      "after the jump the rate is too high"},
                     above_twin(1.5), GuardRole::avoids, "a rate that jumps is held down",
                     [](LabRun& lab) {
                       lab.hooks.schedule = [](std::int64_t step) {
                         const double usual =
                             loop::Schedule(loop::Schedule::Shape::cosine, 10, 120).factor(step);
                         return step < 60 ? usual : 30.0;
                       };
                     }));
}

void in_fp16(LabRun& lab) {
  lab.options.precision.fp16 = true;
  lab.options.precision.fp32 = false;
  lab.how.compute = torch::kFloat16;
}

/// From a step on one gradient is Inf whatever the scale: the scaler halves for ever.
Fault loss_scale_collapse() {
  return from_step(
      40, make_fault({"diverge.loss-scale-collapse",
                      "fp16: from step 40 on one gradient is Inf at any loss scale",
                      {"diverge.loss-scale-collapse", "stall.scaler-skips-every-step"},
                      "a scale that falls for ever skips every step"},
                     above_twin(1.3), GuardRole::stops, "no step can be taken any more",
                     [](LabRun& lab) {
                       in_fp16(lab);
                       auto step = std::make_shared<std::int64_t>(0);
                       lab.hooks.batch = [step](text::TokenBatch&, const Place& place) {
                         if (place.training) *step = place.step;
                       };
                       lab.hooks.start = [step](model::LanguageModel& model) {
                         parameters_like(model, "layers.0.mlp.down_proj")
                             .front()
                             .register_hook([step](const at::Tensor& gradient) {
                               if (*step < 40) return gradient;
                               at::Tensor broken = gradient.clone();
                               broken.view({-1})[3] = std::numeric_limits<double>::infinity();
                               return broken;
                             });
                       };
                     }));
}

}  // namespace

void add_diverge_faults(std::vector<Fault>& roster) {
  for (auto make : {lr_x200, lr_x500, no_warmup, outlier_unclipped, bad_batches, accumulation_sum,
                    missing_zero_grad, z_loss_sign, init_std_one, weight_decay, adam_eps,
                    schedule_jumps, loss_scale_collapse}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab

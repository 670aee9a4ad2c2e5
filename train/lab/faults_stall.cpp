/// Runs that go on without learning.

#include <limits>
#include <memory>

#include "train/lab/fault_parts.h"
#include "train/text/shuffle.h"

namespace aplomb::train::lab {
namespace {

constexpr const char* k_sound = "every step is sound; none of them teaches";

Fault lr_too_low() {
  return make_fault({"stall.lr-1e-8", "a learning rate of 1e-8", {"stall.lr-too-low"}},
                    little_learnt(), GuardRole::nothing, k_sound,
                    [](LabRun& lab) { lab.options.optim.learning_rate = 1e-8; });
}

Fault warmup_for_ever() {
  return make_fault({"stall.warmup-a-million",
                     "a warm-up of a million steps in a run of 120",
                     {"stall.lr-schedule-zero", "stall.lr-too-low"},
                     "the rate stays near zero because of the schedule"},
                    little_learnt(), GuardRole::nothing, k_sound,
                    [](LabRun& lab) { lab.options.optim.warmup_steps = 1000000; });
}

Fault schedule_ends_early() {
  return make_fault({"stall.schedule-ends-at-20",
                     "the schedule was made for 20 steps: the rate is 0 from there on",
                     {"stall.lr-schedule-zero", "diverge.lr-scheduler-bug"},
                     "the same fault in another family"},
                    little_learnt(0.8), GuardRole::nothing, k_sound, [](LabRun& lab) {
                      lab.hooks.schedule = [](std::int64_t step) {
                        return loop::Schedule(loop::Schedule::Shape::linear, 5, 20).factor(step);
                      };
                    });
}

Fault frozen_layers() {
  return make_code_fault(
      {"stall.layers-frozen", "all but the norms are frozen", {"stall.frozen-params"}},
      little_learnt(), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.hooks.start = [](model::LanguageModel& model) {
          for (const auto& each : model.named_parameters()) {
            if (each.key().find("norm") == std::string::npos) each.value().requires_grad_(false);
          }
        };
        lab.script.set("model",
                       "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("
                       "args.model))\n"
                       "for name, p in model.named_parameters():\n"
                       "    if \"norm\" not in name:\n"
                       "        p.requires_grad = False");
      });
}

Fault optimizer_lacks() {
  return make_code_fault(
      {"stall.optimizer-lacks-layers",
       "the optimizer was given the last norm only",
       {"stall.frozen-params"}},
      little_learnt(), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.hooks.optimized = [](std::vector<loop::NamedTensor>& parameters) {
          std::erase_if(parameters, [](const loop::NamedTensor& each) {
            return each.name != "model.norm.weight";
          });
        };
        lab.script.set("optimizer",
                       "optimizer = torch.optim.AdamW(model.model.norm.parameters(), lr=args.lr, "
                       "betas=(args.beta1, args.beta2), eps=args.adam_eps, "
                       "weight_decay=args.weight_decay)");
      });
}

Fault detached_loss() {
  return make_code_fault(
      {"stall.loss-rebuilt",
       "the loss is made anew from its number: no graph leads to the weights",
       {"stall.detached-graph"}},
      little_learnt(), GuardRole::nothing, "there is no gradient to judge", [](LabRun& lab) {
        lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&, const Place& place) {
          return place.training ? sum.detach().requires_grad_(true) : sum;
        };
        lab.script.set("loss",
                       "loss = model(**batch).loss\n"
                       "loss = torch.tensor(loss.item(), requires_grad=True)");
      });
}

/// Only the head still learns.
Fault detached_states() {
  return make_code_fault(
      {"stall.states-detached",
       "hidden states are detached before a small head",
       {"stall.detached-graph", "stall.frozen-params"},
       "the layers below get no gradient, as if they were frozen"},
      little_learnt(0.8), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                               const Place& place) {
          const model::ModelInput input =
              model::make_input(batch, model.config().vocab_size, torch::kCPU);
          at::Tensor states = model.hidden(input);
          if (place.training) states = states.detach();
          const at::Tensor head = parameters_like(model, "lm_head.weight").front();
          const at::Tensor logits = at::linear(states, head).narrow(1, 0, batch.columns - 1);
          const at::Tensor labels = at::tensor(batch.labels, at::kLong)
                                        .view({batch.rows, batch.columns})
                                        .narrow(1, 1, batch.columns - 1);
          return as_sum(
              mean_cross_entropy({logits.reshape({-1, k_vocabulary}), labels.reshape({-1})}),
              batch);
        };
        lab.script.set("loss",
                       "hidden = model.model(input_ids=batch[\"input_ids\"]).last_hidden_state\n"
                       "hidden = hidden.detach()\n"
                       "logits = model.lm_head(hidden)[:, :-1]\n"
                       "loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), "
                       "batch[\"labels\"][:, 1:].reshape(-1))");
      });
}

/// Weights live in bf16: what is added to them below half a step of the format is lost. The twin
/// has the same rate, and fp32.
Fault bf16_updates() {
  Fault fault =
      make_code_fault({"stall.bf16-weights",
                       "weights kept in bf16 at a rate of 2e-5, no fp32 copy",
                       {"stall.bf16-update-underflow", "stall.lr-too-low"},
                       "at this rate a run of 120 steps does not learn much in fp32 either"},
                      little_learnt(), GuardRole::nothing, k_sound, {});
  const auto base = [](LabRun& lab) { lab.options.optim.learning_rate = 2e-5; };
  fault.run = trained(base, [](LabRun& lab) {
    lab.stored = torch::kBFloat16;
    lab.own_settings = {{"torch_dtype", "bfloat16"}};
    const auto round = [](const at::Tensor& each) { each.copy_(each.to(at::kBFloat16)); };
    lab.hooks.start = [round](model::LanguageModel& model) {
      const at::NoGradGuard no_gradients;
      for (at::Tensor& each : model.parameters()) round(each);
    };
    lab.hooks.after_step = [round](const std::vector<loop::NamedTensor>& all, const Place&) {
      const at::NoGradGuard no_gradients;
      for (const loop::NamedTensor& each : all) round(each.tensor);
    };
    lab.script.set("model",
                   "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("
                   "args.model), torch_dtype=torch.bfloat16)");
  });
  return fault;
}

/// A loss of exactly 0, as trainers give it that divide by max(count, 1).
Fault labels_masked_zero() {
  return make_fault(
      {"stall.all-labels-masked",
       "no label of any batch counts: the loss is 0",
       {"stall.all-labels-masked", "nan.all-labels-masked", "stall.zero-loss-padding"},
       "the loss of a batch in which nothing counts is 0 or NaN by trainer"},
      at_end("nothing was learnt"), GuardRole::nothing, "there is no gradient to judge",
      [](LabRun& lab) {
        lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&, const Place&) {
          return sum * 0;
        };
      });
}

/// The same batch with `more` columns of padding on each row.
text::TokenBatch widened(const text::TokenBatch& batch, std::int64_t more) {
  text::TokenBatch wide;
  wide.rows = batch.rows;
  wide.columns = batch.columns + more;
  wide.samples = batch.samples;
  const auto spread = [&](const std::vector<std::int64_t>& from, std::int64_t filler) {
    std::vector<std::int64_t> to;
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const auto begin = from.begin() + row * batch.columns;
      to.insert(to.end(), begin, begin + batch.columns);
      to.insert(to.end(), static_cast<std::size_t>(more), filler);
    }
    return to;
  };
  wide.ids = spread(batch.ids, k_vocabulary - 1);
  wide.labels = spread(batch.labels, text::k_ignored);
  wide.positions = spread(batch.positions, 0);
  wide.segments = spread(batch.segments, -1);
  return wide;
}

/// Padding counts and answers do not: the model learns to repeat the padding.
Fault padding_counts() {
  return make_code_fault(
      {"stall.padding-counts",
       "labels are the padding, not the text: the loss falls to 0 at once",
       {"stall.zero-loss-padding", "stall.wrong-label-mask"},
       "the mask is wrong in that it holds the padding"},
      at_end("nothing of the answers was learnt"), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                               const Place& place) {
          if (!place.training) return as_sum(mean_cross_entropy(predict(model, batch)), batch);
          text::TokenBatch padded = widened(batch, 24);
          for (std::size_t i = 0; i < padded.labels.size(); ++i)
            padded.labels[i] = padded.segments[i] < 0 ? padded.ids[i] : text::k_ignored;
          return as_sum(mean_cross_entropy(predict(model, padded)), batch);
        };
        lab.script.set("batch",
                       "batch[\"labels\"] = batch[\"input_ids\"].masked_fill("
                       "batch[\"attention_mask\"].bool(), -100)");
      });
}

Fault prompt_counts() {
  return make_code_fault({"stall.prompt-counts",
                          "the mask is turned round: prompts count, answers do not",
                          {"stall.wrong-label-mask"}},
                         at_end("nothing of the answers was learnt"), GuardRole::nothing, k_sound,
                         [](LabRun& lab) {
                           lab.hooks.batch = [](text::TokenBatch& batch, const Place& place) {
                             if (!place.training) return;
                             for (std::size_t i = 0; i < batch.labels.size(); ++i) {
                               const bool counts = batch.labels[i] != text::k_ignored;
                               const bool text = batch.segments[i] >= 0 && batch.positions[i] > 0;
                               batch.labels[i] = counts || !text ? text::k_ignored : batch.ids[i];
                             }
                           };
                           lab.script.set("batch",
                                          "prompt_mask = batch.pop(\"prompt_mask\")\n"
                                          "batch[\"labels\"] = batch[\"input_ids\"].clone()\n"
                                          "batch[\"labels\"][~prompt_mask] = -100");
                         });
}

/// The model shifts the labels, and the loop had done so already.
Fault shifted_twice() {
  return make_code_fault({"stall.labels-shifted-twice",
                          "labels are shifted in the loop and again in the model",
                          {"stall.label-shift-bug"}},
                         at_end("what was learnt is the token after next"), GuardRole::nothing,
                         k_sound, [](LabRun& lab) {
                           lab.hooks.forward = [](model::LanguageModel& model,
                                                  const text::TokenBatch& batch, const Place&) {
                             return as_sum(mean_cross_entropy(predict(model, batch, 2)), batch);
                           };
                           lab.script.set("batch",
                                          "input_ids = batch[\"input_ids\"][:, :-1]\n"
                                          "labels = batch[\"labels\"][:, 1:]");
                           lab.script.set("loss",
                                          "loss = model(input_ids=input_ids, labels=labels).loss");
                         });
}

/// Each column predicts itself: nothing easier.
Fault not_shifted() {
  return make_code_fault(
      {"stall.labels-not-shifted",
       "labels are not shifted: each token predicts itself",
       {"stall.label-shift-bug"}},
      at_end("copying was learnt, nothing else"), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                               const Place&) {
          return as_sum(mean_cross_entropy(predict(model, batch, 0)), batch);
        };
        lab.script.set("loss",
                       "logits = model(input_ids=batch[\"input_ids\"]).logits\n"
                       "loss = F.cross_entropy(logits.view(-1, logits.size(-1)), "
                       "batch[\"input_ids\"].view(-1))");
      });
}

Fault shuffled_labels() {
  return make_fault({"stall.labels-shuffled",
                     "labels do not belong to their tokens",
                     {"stall.shuffled-labels", "stall.label-shift-bug", "stall.wrong-label-mask"},
                     "in the curves a loss over the wrong targets is one fault"},
                    little_learnt(0.8), GuardRole::nothing, k_sound, [](LabRun& lab) {
                      lab.hooks.batch = [seed = lab.seed](text::TokenBatch& batch,
                                                          const Place& place) {
                        text::SplitMix random(seed * 1000 + static_cast<std::uint64_t>(place.step));
                        std::vector<std::int64_t> labels;
                        for (const std::int64_t each : batch.labels) {
                          if (each != text::k_ignored) labels.push_back(each);
                        }
                        text::shuffle(labels, random);
                        std::size_t next = 0;
                        for (std::int64_t& each : batch.labels) {
                          if (each != text::k_ignored) each = labels[next++];
                        }
                      };
                    });
}

Fault dropout() {
  return make_code_fault(
      {"stall.dropout-0.95", "dropout of 0.95 before the head", {"stall.dropout-too-high"}},
      little_learnt(0.8), GuardRole::nothing, k_sound, [](LabRun& lab) {
        lab.own_settings = {{"dropout", "0.95"}};
        lab.hooks.start = [](model::LanguageModel&) {};
        lab.hooks.forward = [](model::LanguageModel& model, const text::TokenBatch& batch,
                               const Place& place) {
          Prediction made = predict(model, batch);
          if (place.training) made.logits = at::dropout(made.logits, 0.95, true);
          return as_sum(mean_cross_entropy(made), batch);
        };
      });
}

Fault scaler_skips() {
  return make_fault({"stall.scaler-skips",
                     "fp16: one gradient is Inf from the first step on, each step is skipped",
                     {"stall.scaler-skips-every-step", "diverge.loss-scale-collapse"},
                     "a scaler that skips for ever halves its scale for ever"},
                    little_learnt(), GuardRole::stops, "no step can be taken", [](LabRun& lab) {
                      lab.options.precision.fp16 = true;
                      lab.options.precision.fp32 = false;
                      lab.how.compute = torch::kFloat16;
                      lab.hooks.start = [](model::LanguageModel& model) {
                        parameters_like(model, "layers.0.mlp.down_proj")
                            .front()
                            .register_hook([](const at::Tensor& gradient) {
                              at::Tensor broken = gradient.clone();
                              broken.view({-1})[3] = std::numeric_limits<double>::infinity();
                              return broken;
                            });
                      };
                    });
}

/// Adapters below frozen, checkpointed layers: the input needs no gradient, so nothing behind does.
Fault checkpointing_no_grad() {
  return make_code_fault(
      {"stall.checkpointing-no-grad",
       "reentrant checkpointing over an input that needs no gradient",
       {"stall.gradient-checkpointing-no-grad", "stall.detached-graph", "stall.frozen-params"},
       "the blocks have no graph to their input"},
      at_end("the program ends by an error"), GuardRole::nothing, "there is no gradient to judge",
      [](LabRun& lab) {
        lab.options.precision.use_gradient_checkpointing = true;
        lab.hooks.loss = [](const at::Tensor& sum, const text::TokenBatch&, const Place& place) {
          return place.training ? sum.detach() : sum;
        };
        lab.script.set("model",
                       "from peft import LoraConfig, get_peft_model\n"
                       "model = AutoModelForCausalLM.from_pretrained(args.model)\n"
                       "model.gradient_checkpointing_enable()\n"
                       "model = get_peft_model(model, LoraConfig(r=8, "
                       "target_modules=\"all-linear\"))");
      });
}

}  // namespace

void add_stall_faults(std::vector<Fault>& roster) {
  for (auto make : {lr_too_low, warmup_for_ever, schedule_ends_early, frozen_layers,
                    optimizer_lacks, detached_loss, detached_states, bf16_updates,
                    labels_masked_zero, padding_counts, prompt_counts, shifted_twice, not_shifted,
                    shuffled_labels, dropout, scaler_skips, checkpointing_no_grad}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab

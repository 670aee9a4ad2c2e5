/// Facts of the learning rate: its peak against what is usual, its schedule, its value where things
/// turned.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "diagnosis/fact_deriver.h"

namespace aplomb::diagnosis {

/// Whether an adapter trains in the place of the weights. A trainer whose option of the method says
/// `full` may state the rank of the adapter that it does not use.
bool FactDeriver::trains_adapter() const {
  const std::string method = text("peft.method");
  if (method == "full" || method == "none") return false;
  return !method.empty() || known("peft.rank") || known("quant.bits");
}

/// Which rule of thumb for the peak learning rate applies.
std::string FactDeriver::lr_method() const {
  const std::string optimizer = text("optim.name");
  const std::string method = text("train.method");
  const bool adapter = trains_adapter();
  if (text("run.kind") == "rl") return "rl";
  if (optimizer.find("sgd") != std::string::npos) return "sgd";
  if (method == "dpo") return adapter ? "lora" : "full";
  if (adapter) return "lora";
  const bool from_scratch =
      truth("model.from_scratch") || text("model.name") == "scratch" ||
      has_framework({"nanogpt", "llm.c", "megatron", "megatron-lm", "gpt-neox", "torchtitan"});
  if (method == "pretrain" || (from_scratch && method.empty())) return "pretrain";
  if (text("run.kind") == "llm" && (known("model.name") || method == "sft")) return "full";
  return text("run.kind") == "vision" ? "vision" : "";
}

/// Number of weights: as stated, where no adapter trains in their place those that train, or that
/// of a transformer of these measures (12 layers hidden^2 and the embedding, arXiv:2001.08361 table
/// 1).
std::optional<double> FactDeriver::weights() const {
  if (const auto stated = number("model.params")) return stated;
  const bool adapter = trains_adapter();
  if (const auto trained = number("model.trainable_params"); trained && !adapter) return trained;
  const auto layers = number("model.layers");
  const auto hidden = number("model.hidden");
  if (!layers || !hidden) return std::nullopt;
  const double embedding = *hidden * number("model.vocab_size").value_or(0);
  return 12 * *layers * *hidden * *hidden + embedding;
}

/// The learning rate summed over the steps. Adam moves no weight by more than about that
/// (arXiv:1412.6980, section 2.1), so it says how far training could get at all.
void FactDeriver::lr_path(double peak) {
  const record::Series* lr = run_.primary(record::Role::lr);
  const auto last_step = number("run.last_step");
  if (lr == nullptr || lr->size() < 3 || lr->step_kind != record::StepKind::explicit_) {
    if (last_step) {
      set("lr.path", peak * *last_step, "peak learning rate times steps", {"optim.lr", "lr.max"});
    }
    return;
  }
  double sum = 0;
  for (std::size_t i = 1; i < lr->size(); ++i) {
    const auto steps = static_cast<double>(lr->step[i] - lr->step[i - 1]);
    if (steps > 0 && std::isfinite(lr->value[i])) sum += steps * lr->value[i];
  }
  set("lr.path", sum,
      "learning rate summed over the steps: " + core::show_number(sum) +
          ", Adam moves no weight by more",
      {"lr.max"});
}

void FactDeriver::learning_rate() {
  std::optional<double> peak = number("optim.lr");
  if (const auto seen = number("lr.max")) peak = std::max(peak.value_or(0), *seen);
  const auto acting = number("schedule.acting_lr");
  const auto asked = number("optim.lr");
  if (acting && asked && *asked > 0 && !known("lr.max")) {
    constexpr double k_far = 2;  // what a learning rate may be off by without harm
    const double ratio = *acting / *asked;
    set("lr.replaced", ratio >= k_far || ratio <= 1 / k_far,
        fmt::format("the schedule's own peak of {} takes the place of the learning rate of {}",
                    core::show_number(*acting), core::show_number(*asked)),
        {"schedule.acting_lr", "optim.lr"});
  }
  if (acting && !known("lr.max")) peak = acting;
  if (!peak) return;
  set("lr.peak", *peak, "peak learning rate " + core::show_number(*peak), {"optim.lr", "lr.max"});
  lr_path(*peak);
  struct Usual {
    std::string_view method;
    double low, high;
  };
  // full, lora: the ranges of axolotl's stability guide; pretrain: GPT-3 table 2.1
  // (arXiv:2005.14165) from 175B to 125M; rl: from below TRL's default (1e-6) and DeepSeekMath's
  // (arXiv:2402.03300) to Open-R1's small-model recipes (2e-5); sgd, vision: 0.02 a batch of 16 is
  // detectron2's default, 0.1 a batch of 256 ResNet's (arXiv:1512.03385).
  static constexpr std::array<Usual, 6> k_usual = {{{"full", 1e-5, 5e-5},
                                                    {"lora", 1e-4, 3e-4},
                                                    {"pretrain", 6e-5, 6e-4},
                                                    {"rl", 5e-7, 2e-5},
                                                    {"sgd", 1e-3, 1e-1},
                                                    {"vision", 1e-4, 2e-2}}};
  // Small models stand more, by the exponent of that table (nanoGPT's 10 M characters: 1e-3); and
  // one of fewer than 10 M weights is no pretrained one.
  constexpr double k_table_weights = 125e6;
  constexpr double k_table_exponent = 0.32;
  constexpr double k_tiny = 10e6;
  std::string method = lr_method();
  const auto size = weights();
  if (size && *size > 0 && *size < k_tiny && (method == "full" || method == "rl" || method.empty()))
    method = "pretrain";
  const auto* usual = std::find_if(k_usual.begin(), k_usual.end(),
                                   [&](const Usual& row) { return row.method == method; });
  if (usual == k_usual.end()) return;
  double high = usual->high;
  if (method == "pretrain" && size && *size > 0 && *size < k_table_weights)
    high *= std::pow(k_table_weights / *size, k_table_exponent);
  set("lr.method", method, "learning rates of kind " + method);
  set("lr.usual_low", usual->low, "usual from " + core::show_number(usual->low));
  set("lr.usual_high", high, "usual up to " + core::show_number(high, 2));
  set("lr.over_usual", *peak / high,
      "learning rate " + core::show_number(*peak) + ", usual up to " + core::show_number(high, 2),
      {"optim.lr", "lr.max"});
  set("lr.under_usual", *peak > 0 ? usual->low / *peak : 1e9,
      "learning rate " + core::show_number(*peak) + ", usual from " + core::show_number(usual->low),
      {"optim.lr", "lr.max"});
}

/// The learning rate that was in force at a step.
std::optional<double> FactDeriver::lr_at(double step) const {
  const record::Series* lr = run_.primary(record::Role::lr);
  std::optional<double> found;
  if (lr == nullptr) return found;
  for (std::size_t i = 0; i < lr->size(); ++i) {
    if (static_cast<double>(lr->step[i]) > step && found) break;
    if (std::isfinite(lr->value[i])) found = lr->value[i];
  }
  return found;
}

/// The learning rate at the first non-finite sample: near 0 it cannot be what broke the run.
void FactDeriver::onset() {
  std::optional<double> step;
  for (const char* id : {"loss.nonfinite", "grad_norm.nonfinite", "component.nonfinite"}) {
    if (!truth(id)) continue;
    const auto at = number(std::string(id) + ".step");
    if (at && (!step || *at < *step)) step = at;
  }
  if (!step) return;
  if (const auto at_onset = lr_at(*step)) {
    set("lr.at_onset", *at_onset,
        "learning rate " + core::show_number(*at_onset) + " at the first non-finite value",
        {"loss.nonfinite", "grad_norm.nonfinite"});
  }
}

void FactDeriver::schedule() {
  const auto warmup = number("schedule.warmup_steps");
  const auto steps = number("train.max_steps");
  if (warmup && steps && *steps > 0) {
    set("schedule.warmup_covers_run", *warmup >= *steps,
        "warm-up of " + core::show_number(*warmup) + " steps in a run of " +
            core::show_number(*steps),
        {"schedule.warmup_steps", "train.max_steps"});
  }
  const auto turned = number("loss.divergence.best_step");
  if (truth("loss.divergence") && turned) {
    if (const auto rate = lr_at(*turned + 1)) {
      set("lr.at_divergence", *rate,
          "learning rate " + core::show_number(*rate) + " where the loss turned",
          {"loss.divergence"});
    }
  }
  const auto last_step = number("run.last_step");
  const auto epochs = number("epoch.max");
  if (last_step && epochs && *epochs > 0.01) {
    set("run.steps_per_epoch", *last_step / *epochs,
        core::show_number(*last_step / *epochs, 3) + " steps a pass over the data", {"epoch.max"});
  }
}

}  // namespace aplomb::diagnosis

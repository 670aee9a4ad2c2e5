#include "diagnosis/derived_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>

#include "core/text.h"

namespace aplomb {
namespace {

/// Reads and writes one table; every derived fact inherits the evidence of those it follows from.
class Deriver {
 public:
  Deriver(const Run& run, FactTable& facts) : run_(run), facts_(facts) {}

  void run() {
    kind();
    precision();
    length();
    batch();
    learning_rate();
    onset();
    progress();
  }

 private:
  std::optional<double> number(std::string_view name) const {
    const Fact* fact = facts_.find(name);
    const double* held = fact == nullptr ? nullptr : as_number(fact->value);
    if (held == nullptr || std::isnan(*held)) return std::nullopt;
    return *held;
  }

  std::string text(std::string_view name) const {
    const Fact* fact = facts_.find(name);
    const std::string* held = fact == nullptr ? nullptr : as_text(fact->value);
    return held == nullptr ? std::string() : lower(*held);
  }

  bool truth(std::string_view name) const {
    const Fact* fact = facts_.find(name);
    return fact != nullptr && is_true(fact->value);
  }

  bool known(std::string_view name) const { return facts_.find(name) != nullptr; }

  void set(std::string name, Value value, std::string because,
           std::initializer_list<std::string_view> from = {}) {
    std::vector<Origin> evidence;
    for (const std::string_view source : from) {
      const Fact* fact = facts_.find(source);
      if (fact == nullptr) continue;
      evidence.insert(evidence.end(), fact->evidence.begin(), fact->evidence.end());
    }
    facts_.set({std::move(name), std::move(value), std::move(because), std::move(evidence)});
  }

  void kind();
  void precision();
  void length();
  void batch();
  void learning_rate();
  void onset();
  void progress();
  std::string lr_method() const;
  bool has_component(std::initializer_list<std::string_view> parts) const;
  bool has_framework(std::initializer_list<std::string_view> slugs) const;

  const Run& run_;
  FactTable& facts_;
};

bool Deriver::has_component(std::initializer_list<std::string_view> parts) const {
  return std::any_of(run_.series.begin(), run_.series.end(), [&](const Series& series) {
    if (series.role != Role::loss_component) return false;
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return icontains(series.name, part); });
  });
}

bool Deriver::has_framework(std::initializer_list<std::string_view> slugs) const {
  const auto named = [&](const std::string& framework) {
    return std::find(slugs.begin(), slugs.end(), framework) != slugs.end();
  };
  return std::any_of(run_.sources.begin(), run_.sources.end(),
                     [&](const Source& source) { return named(source.framework); }) ||
         std::any_of(run_.settings.begin(), run_.settings.end(),
                     [&](const Setting& setting) { return named(setting.framework); });
}

void Deriver::kind() {
  const std::string method = text("train.method");
  const bool rewarded = run_.primary(Role::reward) != nullptr ||
                        run_.primary(Role::reward_component) != nullptr ||
                        run_.primary(Role::reward_std) != nullptr || known("rl.num_generations") ||
                        known("rl.reward_functions");
  if (rewarded || method == "grpo" || method == "ppo" || method == "rloo" ||
      method == "reinforce") {
    set("run.kind", std::string("rl"), "reinforcement learning");
    return;
  }
  if (has_component({"rpn", "bbox", "box", "cls", "obj", "mask", "giou", "conf", "loc"}) ||
      has_framework({"detectron2", "mmdet", "mmdetection", "mmengine", "yolo", "ultralytics"})) {
    set("run.kind", std::string("vision"), "vision model");
    return;
  }
  const bool language = known("peft.method") || known("data.max_length") ||
                        known("data.response_template") || known("tokenizer.pad_token") ||
                        known("model.vocab_size") || known("peft.rank") ||
                        run_.primary(Role::perplexity) != nullptr ||
                        has_framework({"hf-trainer", "trl", "axolotl", "llama-factory", "ms-swift",
                                       "megatron-lm", "gpt-neox", "torchtitan", "torchtune",
                                       "nanogpt", "llm.c", "litgpt", "fairseq"});
  set("run.kind", std::string(language ? "llm" : "unknown"),
      language ? "language model" : "kind not known");
}

void Deriver::precision() {
  const auto half = [](const std::string& format) { return format == "fp16" || format == "bf16"; };
  const std::string params = text("precision.params");
  if (!params.empty()) {
    set("precision.half_params", half(params) && text("precision.master") != "fp32",
        "parameters stored in " + params, {"precision.params"});
  }
  const std::string compute = text("precision.compute");
  if (!compute.empty()) {
    set("precision.fp16_compute", compute == "fp16", "computes in " + compute,
        {"precision.compute"});
  }
}

void Deriver::length() {
  double longest = 0;
  std::int64_t last_step = 0;
  for (const Series& series : run_.series) {
    longest = std::max(longest, static_cast<double>(series.count));
    if (!series.step.empty() && series.step_kind == StepKind::explicit_) {
      last_step = std::max(last_step, *std::max_element(series.step.begin(), series.step.end()));
    }
  }
  set("run.points", longest, show_number(longest) + " samples read");
  if (last_step > 0) {
    set("run.last_step", static_cast<double>(last_step), "last step " + std::to_string(last_step));
  }
  const std::optional<double> seen = number("epoch.max");
  const std::optional<double> asked = number("train.epochs");
  if (seen || asked) {
    const double epochs = seen.value_or(*(asked ? asked : seen));
    set("run.epochs", epochs, show_number(epochs) + " passes over the data",
        {"epoch.max", "train.epochs"});
  }
}

void Deriver::batch() {
  const auto micro = number("batch.micro");
  if (!micro) return;
  const double ranks = number("batch.world").value_or(number("dist.world_size").value_or(1));
  const double global = *micro * number("batch.accumulation").value_or(1) * ranks;
  set("batch.global", global, "a global batch of " + show_number(global),
      {"batch.micro", "batch.accumulation", "batch.world", "dist.world_size"});
}

/// Which rule of thumb for the peak learning rate applies.
std::string Deriver::lr_method() const {
  const std::string optimizer = text("optim.name");
  const std::string method = text("train.method");
  const bool adapter = known("peft.method") || known("peft.rank") || known("quant.bits");
  if (text("run.kind") == "rl") return adapter ? "rl-lora" : "rl";
  if (optimizer.find("sgd") != std::string::npos) return "sgd";
  if (method == "dpo") return adapter ? "lora" : "full";
  if (adapter) return "lora";
  if (method == "pretrain") return "pretrain";
  if (text("run.kind") == "llm" && (known("model.name") || method == "sft")) return "full";
  return text("run.kind") == "vision" ? "vision" : "";
}

void Deriver::learning_rate() {
  std::optional<double> peak = number("optim.lr");
  if (const auto seen = number("lr.max")) peak = std::max(peak.value_or(0), *seen);
  if (!peak) return;
  set("lr.peak", *peak, "peak learning rate " + show_number(*peak), {"optim.lr", "lr.max"});
  struct Usual {
    std::string_view method;
    double low, high;
  };
  // full, lora: the ranges of axolotl's stability guide; pretrain: GPT-3 table 2.1
  // (arXiv:2005.14165) from 175B to 125M; rl: TRL's GRPO default 1e-6 and DeepSeekMath's
  // (arXiv:2402.03300), adapters ten times that (TRL's LoRA notes); sgd, vision: 0.02 a batch of 16
  // is detectron2's default, 0.1 a batch of 256 ResNet's (arXiv:1512.03385).
  static constexpr std::array<Usual, 7> k_usual = {{{"full", 1e-5, 5e-5},
                                                    {"lora", 1e-4, 3e-4},
                                                    {"pretrain", 6e-5, 6e-4},
                                                    {"rl", 5e-7, 3e-6},
                                                    {"rl-lora", 1e-6, 2e-5},
                                                    {"sgd", 1e-3, 1e-1},
                                                    {"vision", 1e-4, 2e-2}}};
  const std::string method = lr_method();
  const auto* usual = std::find_if(k_usual.begin(), k_usual.end(),
                                   [&](const Usual& row) { return row.method == method; });
  if (usual == k_usual.end()) return;
  set("lr.method", method, "learning rates of kind " + method);
  set("lr.usual_low", usual->low, "usual from " + show_number(usual->low));
  set("lr.usual_high", usual->high, "usual up to " + show_number(usual->high));
  set("lr.over_usual", *peak / usual->high,
      "learning rate " + show_number(*peak) + ", usual up to " + show_number(usual->high),
      {"optim.lr", "lr.max"});
  set("lr.under_usual", *peak > 0 ? usual->low / *peak : 1e9,
      "learning rate " + show_number(*peak) + ", usual from " + show_number(usual->low),
      {"optim.lr", "lr.max"});
}

/// The learning rate at the first non-finite sample: near 0 it cannot be what broke the run.
void Deriver::onset() {
  std::optional<double> step;
  for (const char* id : {"loss.nonfinite", "grad_norm.nonfinite", "component.nonfinite"}) {
    if (!truth(id)) continue;
    const auto at = number(std::string(id) + ".step");
    if (at && (!step || *at < *step)) step = at;
  }
  const Series* lr = run_.primary(Role::lr);
  if (!step || lr == nullptr || lr->empty()) return;
  std::optional<double> at_onset;
  for (std::size_t i = 0; i < lr->size(); ++i) {
    if (static_cast<double>(lr->step[i]) > *step && at_onset) break;
    if (std::isfinite(lr->value[i])) at_onset = lr->value[i];
  }
  if (at_onset) {
    set("lr.at_onset", *at_onset,
        "learning rate " + show_number(*at_onset) + " at the first non-finite value",
        {"loss.nonfinite", "grad_norm.nonfinite"});
  }
}

void Deriver::progress() {
  const auto first = number("loss.first");
  const auto lowest = number("loss.min");
  if (first && lowest && *first > 0) {
    const double drop = (*first - *lowest) / *first;
    set("loss.drop_frac", drop, "loss falls by " + show_number(100 * drop, 2) + " %",
        {"loss.first", "loss.last"});
  }
  const auto train = number("loss.last");
  const auto held_out = number("eval_loss.last");
  if (train && held_out) {
    set("eval.gap", *held_out - *train,
        "eval loss " + show_number(*held_out) + " against training loss " + show_number(*train),
        {"loss.last", "eval_loss.last"});
  }
}

}  // namespace

void derive_facts(const Run& run, FactTable& facts) { Deriver(run, facts).run(); }

}  // namespace aplomb

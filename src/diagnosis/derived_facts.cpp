#include "diagnosis/derived_facts.h"

#include <algorithm>

#include "diagnosis/fact_deriver.h"

namespace aplomb::diagnosis {

bool FactDeriver::has_component(std::initializer_list<std::string_view> parts) const {
  return std::any_of(run_.series.begin(), run_.series.end(), [&](const record::Series& series) {
    if (series.role != record::Role::loss_component) return false;
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return core::icontains(series.name, part); });
  });
}

bool FactDeriver::has_framework(std::initializer_list<std::string_view> slugs) const {
  const auto named = [&](const std::string& framework) {
    return std::find(slugs.begin(), slugs.end(), framework) != slugs.end();
  };
  return std::any_of(run_.sources.begin(), run_.sources.end(),
                     [&](const record::Source& source) { return named(source.framework); }) ||
         std::any_of(run_.settings.begin(), run_.settings.end(),
                     [&](const record::Setting& setting) { return named(setting.framework); });
}

/// The Trainer's log says `learning_rate` and `epoch` beside the loss; most of what it trains are
/// language models.
bool FactDeriver::hugging_face_log() const {
  const auto printed = [&](std::string_view raw) {
    return std::any_of(run_.series.begin(), run_.series.end(),
                       [&](const record::Series& series) { return series.raw_name == raw; });
  };
  return printed("learning_rate") && printed("epoch") && printed("loss");
}

void FactDeriver::kind() {
  const std::string method = text("train.method");
  const bool rewarded =
      known("rl.num_generations") || known("rl.reward_functions") || known("rl.kl_target") ||
      truth("error.grpo-in-use") || truth("said.about.rl") || truth("said.about.policy_learning") ||
      std::any_of(run_.series.begin(), run_.series.end(), [](const record::Series& series) {
        return series.role == record::Role::reward ||
               series.role == record::Role::reward_component ||
               series.role == record::Role::reward_std ||
               core::lower(series.name).starts_with("reward");
      });
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
                        hugging_face_log() || known("model.vocab_size") || known("peft.rank") ||
                        run_.primary(record::Role::perplexity) != nullptr ||
                        has_framework({"hf-trainer", "trl", "axolotl", "llama-factory", "ms-swift",
                                       "megatron-lm", "gpt-neox", "torchtitan", "torchtune",
                                       "nanogpt", "llm.c", "litgpt", "fairseq"});
  set("run.kind", std::string(language ? "llm" : "unknown"),
      language ? "language model" : "kind not known");
}

void FactDeriver::precision() {
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

void FactDeriver::length() {
  double longest = 0;
  std::int64_t last_step = 0;
  for (const record::Series& series : run_.series) {
    longest = std::max(longest, static_cast<double>(series.count));
    if (!series.step.empty() && series.step_kind == record::StepKind::explicit_) {
      last_step = std::max(last_step, *std::max_element(series.step.begin(), series.step.end()));
    }
  }
  set("run.points", longest, core::show_number(longest) + " samples read");
  if (last_step > 0) {
    set("run.last_step", static_cast<double>(last_step), "last step " + std::to_string(last_step));
  }
  const std::optional<double> seen = number("epoch.max");
  const std::optional<double> asked = number("train.epochs");
  if (seen || asked) {
    const double epochs = seen.value_or(*(asked ? asked : seen));
    set("run.epochs", epochs, core::show_number(epochs) + " passes over the data",
        {"epoch.max", "train.epochs"});
  }
}

void FactDeriver::batch() {
  const auto micro = number("batch.micro");
  if (!micro) return;
  const double ranks = number("batch.world").value_or(number("dist.world_size").value_or(1));
  const double global = *micro * number("batch.accumulation").value_or(1) * ranks;
  set("batch.global", global, "a global batch of " + core::show_number(global),
      {"batch.micro", "batch.accumulation", "batch.world", "dist.world_size"});
}

/// Boxes printed as (x1, y1, x2, y2) with x2 <= x1 or y2 <= y1. Where one is impossible as width
/// and height too, it is the corner that is wrong.
void FactDeriver::boxes() {
  const auto x1 = number("error.box-list.x1");
  const auto y1 = number("error.box-list.y1");
  const auto x2 = number("error.box-list.x2");
  const auto y2 = number("error.box-list.y2");
  if (!x1 || !y1 || !x2 || !y2) return;
  const bool wrong = *x2 <= *x1 || *y2 <= *y1 || *x1 < 0 || *y1 < 0;
  set("data.degenerate_box", wrong,
      "box (" + core::show_number(*x1) + ", " + core::show_number(*y1) + ", " +
          core::show_number(*x2) + ", " + core::show_number(*y2) + ")",
      {"error.box-list.x1"});
}

/// Whether sampler and trainer agree on the first samples, and for how long.
void FactDeriver::sampler_agreement() {
  auto ratio = number("is_ratio_mean.first");
  if (!ratio) ratio = number("error.is-ratio-printed.ratio");
  if (ratio) {
    // TRL's own tests take a first-step ratio within 5 % of 1 as equal.
    set("rl.is_ratio_off", std::fabs(*ratio - 1) > 0.05,
        "importance ratio " + core::show_number(*ratio), {"error.is-ratio-printed"});
  }
  const record::Series* series = run_.primary(record::Role::logp_difference);
  if (series == nullptr || series->size() < 4) return;
  const auto before = finite_median(*series, 0, series->size() / 2);
  const auto after = finite_median(*series, series->size() / 2, series->size());
  if (!before || !after) return;
  if (*before > 0) {
    set("logp_difference.rising", *after > 2 * *before,
        "difference of log-probabilities " + core::show_number(*before) + " -> " +
            core::show_number(*after));
  }
  // Healthy below 0.1 (axolotl's training stability guide). Weights that are pushed late are still
  // equal at the first step; other arithmetic or another temperature is off from the start.
  constexpr double k_healthy = 0.1;
  const double first = series->value.front();
  set("rl.sampler_falls_behind", first < k_healthy && *after > k_healthy && *after > 3 * first,
      "difference of log-probabilities " + core::show_number(first) + " at first, later " +
          core::show_number(*after));
}

/// Whether the reward has come up to the top of its range, and stays.
void FactDeriver::reward_at_top() {
  const record::Series* series = run_.primary(record::Role::reward);
  constexpr std::size_t k_least = 20;  // axolotl's training stability guide: patience of rewards
  if (series == nullptr || series->size() < k_least) return;
  // Few records: a policy that is paid for the wrong thing is there within a twentieth of its run.
  const auto early = finite_median(*series, 0, std::max<std::size_t>(3, series->size() / 50));
  const auto late = finite_median(*series, series->size() * 3 / 4, series->size());
  if (!early || !late) return;
  // Of the way up, beside a highest value that noise has made; and a way that is no noise itself.
  constexpr double k_top = 0.05;
  constexpr double k_way = 0.25;  // of all that the reward ever moved
  const double way = series->max - *early;
  const double range = series->max - series->min;
  set("reward.at_top", range > 0 && way >= k_way * range && series->max - *late <= k_top * way,
      "reward " + core::show_number(*early) + " at first, " + core::show_number(*late) +
          " in the last quarter, highest " + core::show_number(series->max));
}

void FactDeriver::reinforcement() {
  sampler_agreement();
  reward_at_top();
  for (const record::Series& series : run_.series) {
    if (series.role == record::Role::reward_component_std && series.max > 1e-6) {
      set("reward.scores_vary", true, series.name + " up to " + core::show_number(series.max));
    }
  }
}

/// Settings that are a mistake whatever the curves say.
void FactDeriver::mistakes() {
  // The share to keep of older libraries (keep_prob), given as the share to drop.
  constexpr double k_share_to_keep = 0.9;
  const auto dropout = number("model.dropout");
  if (dropout && *dropout >= k_share_to_keep && *dropout <= 1)
    set("setting.mistake.dropout", true, "dropout " + core::show_number(*dropout),
        {"model.dropout"});
}

void derive_facts(const record::Run& run, FactTable& facts) { FactDeriver(run, facts).run(); }

}  // namespace aplomb::diagnosis

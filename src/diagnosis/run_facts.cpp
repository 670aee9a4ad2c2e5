#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/text.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

bool is_rewarded(const record::Series& series) {
  return series.role == record::Role::reward || series.role == record::Role::reward_component ||
         series.role == record::Role::reward_std || core::lower(series.name).starts_with("reward");
}

/// Part of the loss of a detector or a segmenter.
bool is_part_of_vision(const record::Series& series) {
  static constexpr std::string_view k_parts[] = {"rpn",  "bbox", "box",  "cls", "obj",
                                                 "mask", "giou", "conf", "loc"};
  return series.role == record::Role::loss_component &&
         std::any_of(std::begin(k_parts), std::end(k_parts),
                     [&](std::string_view part) { return core::icontains(series.name, part); });
}

/// A family of language models by its name; their relatives that see images are told by theirs.
bool names_language_model(const std::string& name) {
  static constexpr std::string_view k_families[] = {
      "llama",  "qwen",   "mistral", "mixtral",  "gemma",    "gpt2",    "gpt-neo",
      "gpt-j",  "pythia", "falcon",  "opt-",     "bloom",    "olmo",    "deepseek",
      "smollm", "phi-",   "yi-",     "internlm", "baichuan", "stablelm"};
  static constexpr std::string_view k_others[] = {"llava", "-vl", "vision", "clip", "audio"};
  const std::string lower = core::lower(name);
  const auto has = [&lower](std::string_view word) { return lower.find(word) != lower.npos; };
  return std::any_of(std::begin(k_families), std::end(k_families), has) &&
         std::none_of(std::begin(k_others), std::end(k_others), has);
}

void derive_kind(FactView& view) {
  constexpr double k_billion = 1e9;
  if (const std::string trainer = view.trainer(); !trainer.empty())
    view.set("run.trainer", trainer, "trained by " + trainer);
  const auto& all = view.all_series();
  const std::string method = view.word("train.method");
  const auto any_known = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return view.known(name); });
  };
  const bool rewarded = any_known({"rl.num_generations", "rl.reward_functions", "rl.kl_target"}) ||
                        view.truth("error.grpo-in-use") || view.truth("said.about.rl") ||
                        view.truth("said.about.policy_learning") ||
                        std::any_of(all.begin(), all.end(), is_rewarded);
  if (rewarded || method == "grpo" || method == "ppo" || method == "rloo" ||
      method == "reinforce" || view.word("task.kind") == "policy") {
    view.set("run.kind", std::string("rl"), "reinforcement learning");
    return;
  }
  const std::string framework = view.text("framework.kind");
  if (framework == "vision" || std::any_of(all.begin(), all.end(), is_part_of_vision)) {
    view.set("run.kind", std::string("vision"), "vision model");
    return;
  }
  // Adapters on a billion weights and more stand on language models.
  const bool adapts_billions =
      view.truth("peft.used") && view.positive("model.params").value_or(0) >= k_billion;
  const bool language = framework == "language" ||
                        any_known({"peft.method", "data.max_length", "data.response_template",
                                   "tokenizer.pad_token", "model.vocab_size", "peft.rank"}) ||
                        view.series(record::Role::perplexity) != nullptr || adapts_billions ||
                        names_language_model(view.word("model.name"));
  view.set("run.kind", std::string(language ? "llm" : "unknown"),
           language ? "language model" : "kind not known");
}

void derive_precision(FactView& view) {
  const auto half = [](const std::string& format) { return format == "fp16" || format == "bf16"; };
  const std::string params = view.word("precision.params");
  if (!params.empty()) {
    view.set("precision.half_params", half(params) && view.word("precision.master") != "fp32",
             "parameters stored in " + params, {"precision.params"});
  }
  const std::string compute = view.word("precision.compute");
  if (!compute.empty()) {
    view.set("precision.fp16_compute", compute == "fp16", "computes in " + compute,
             {"precision.compute"});
  }
}

/// As many steps as passes: each pass is one step, and the data are no more than its batch.
void derive_samples(FactView& view, std::int64_t steps) {
  const auto passes = view.number("train.epochs");
  const auto batch = view.positive("batch.global");
  constexpr double k_least_passes = 20;  // judgement: fewer may be as many by chance
  if (view.known("data.samples") || view.known("train.max_steps") || !passes || !batch ||
      *passes < k_least_passes || static_cast<double>(steps) != *passes)
    return;
  view.set("run.pass_samples", *batch,
           fmt::format("{} passes in {} steps of {} samples", core::show_number(*passes), steps,
                       core::show_number(*batch)),
           {"train.epochs", "batch.global"});
}

void derive_length(FactView& view) {
  double longest = 0;
  std::int64_t last_step = 0;
  std::int64_t steps_seen = 0;  ///< of the loss, from its first to its last
  for (const record::Series& series : view.all_series()) {
    longest = std::max(longest, static_cast<double>(series.count));
    if (!series.step.empty() && series.step_kind == record::StepKind::explicit_) {
      const auto [least, most] = std::minmax_element(series.step.begin(), series.step.end());
      last_step = std::max(last_step, *most);
      if (series.role == record::Role::loss) steps_seen = *most - *least + 1;
    }
  }
  view.set("run.points", longest, core::show_number(longest) + " samples read");
  if (last_step > 0) {
    view.set("run.last_step", static_cast<double>(last_step),
             "last step " + std::to_string(last_step));
  }
  const auto seen = view.number("epoch.max");
  if (last_step > 0 && seen && *seen > 0.01) {
    const double steps = static_cast<double>(last_step) / *seen;
    view.set("run.steps_per_epoch", steps,
             core::show_number(steps, 3) + " steps a pass over the data", {"epoch.max"});
  }
  auto epochs = seen;
  for (const char* asked : {"config.epochs", "train.epochs"}) {
    if (!epochs) epochs = view.number(asked);
  }
  if (epochs) {
    view.set("run.epochs", *epochs, core::show_number(*epochs) + " passes over the data",
             {"epoch.max", "train.epochs", "config.epochs"});
  }
  derive_samples(view, steps_seen);
}

/// Boxes printed as (x1, y1, x2, y2) with x2 <= x1 or y2 <= y1. Where one is impossible as width
/// and height too, it is the corner that is wrong.
void derive_boxes(FactView& view) {
  const auto x1 = view.number("error.box-list.x1");
  const auto y1 = view.number("error.box-list.y1");
  const auto x2 = view.number("error.box-list.x2");
  const auto y2 = view.number("error.box-list.y2");
  if (!x1 || !y1 || !x2 || !y2) return;
  const bool wrong = *x2 <= *x1 || *y2 <= *y1 || *x1 < 0 || *y1 < 0;
  view.set("data.degenerate_box", wrong,
           "box (" + core::show_number(*x1) + ", " + core::show_number(*y1) + ", " +
               core::show_number(*x2) + ", " + core::show_number(*y2) + ")",
           {"error.box-list.x1"});
}

/// Settings that are a mistake whatever the curves say.
void derive_mistakes(FactView& view) {
  // The share to keep of older libraries (keep_prob), given as the share to drop.
  constexpr double k_share_to_keep = 0.9;
  const auto dropout = view.number("model.dropout");
  if (dropout && *dropout >= k_share_to_keep && *dropout <= 1)
    view.set("setting.mistake.dropout", true, "dropout " + core::show_number(*dropout),
             {"model.dropout"});
}

/// Whether something is trained behind that place: then a new run has begun there (another seed).
bool trains_behind(const FactView& view, const record::Origin& place) {
  const auto& all = view.all_series();
  return std::any_of(all.begin(), all.end(), [&](const record::Series& series) {
    return series.role == record::Role::loss && series.source == place.source && !series.empty() &&
           series.offset.back() > place.offset;
  });
}

/// Whether training stands before that place: records of it, or a trainer's closing line.
bool trains_before(const FactView& view, const record::Origin& place) {
  const auto is_before = [&](const record::Origin& each) {
    return each.source == place.source && each.offset < place.offset;
  };
  const auto& all = view.all_series();
  const auto ends = view.events("training-ended");
  return std::any_of(all.begin(), all.end(),
                     [&](const record::Series& series) {
                       return series.role == record::Role::loss && !series.empty() &&
                              is_before(series.origin(0));
                     }) ||
         std::any_of(ends.begin(), ends.end(),
                     [&](const record::Event* each) { return is_before(each->origin); });
}

/// A head that is drawn anew when the trained model is loaded: it was not saved with the rest.
void derive_redrawn(FactView& view) {
  for (const record::Event* each : view.events("head-missing")) {
    if (!trains_before(view, each->origin) || trains_behind(view, each->origin)) continue;
    view.set_at("load.head_redrawn", true,
                "the head of the task is drawn anew when the trained model is loaded",
                {each->origin});
    return;
  }
}

/// An average with decay d holds d^n of the weights that it began with after n steps. Averages that are
/// warmed up hold less; where the decay is logged as it is, none is.
void derive_averaged(FactView& view) {
  constexpr double k_much = 0.1;  // judgement: a tenth of untrained weights is no longer small
  const auto decay = view.number("optim.ema_decay");
  const auto steps = view.number("run.last_step");
  if (!decay || !steps || !(*decay > 0.5) || *decay >= 1) return;
  const double share = std::pow(*decay, *steps);
  view.set(
      "ema.start_share", share,
      "decay " + core::show_number(*decay, 6) + " over " + core::show_number(*steps, 7) + " steps",
      {"optim.ema_decay", "run.last_step"});
  view.set("ema.lags", share >= k_much,
           core::show_number(100 * share, 2) + " % of the averaged weights are those of the start",
           {"optim.ema_decay", "run.last_step"});
}

}  // namespace

std::vector<facts::Deriver> run_facts() {
  return {{.name = "kind of run",
           .reads = {"source:*",
                     "series:*",
                     "series:perplexity",
                     "framework.kind",
                     "train.method",
                     "model.name",
                     "rl.num_generations",
                     "rl.reward_functions",
                     "rl.kl_target",
                     "error.grpo-in-use",
                     "said.about.rl",
                     "said.about.policy_learning",
                     "peft.method",
                     "peft.rank",
                     "data.max_length",
                     "data.response_template",
                     "tokenizer.pad_token",
                     "model.vocab_size",
                     "task.kind",
                     "peft.used",
                     "model.params"},
           .gives = {"run.kind", "run.trainer"},
           .derive = derive_kind},
          {.name = "number formats",
           .reads = {"precision.params", "precision.master", "precision.compute"},
           .gives = {"precision.half_params", "precision.fp16_compute"},
           .derive = derive_precision},
          {.name = "length",
           .reads = {"series:*", "epoch.max", "config.epochs", "train.epochs", "train.max_steps",
                     "data.samples", "batch.global"},
           .gives = {"run.points", "run.last_step", "run.steps_per_epoch", "run.epochs",
                     "run.pass_samples"},
           .derive = derive_length},
          {.name = "averaged weights",
           .reads = {"optim.ema_decay", "run.last_step"},
           .gives = {"ema.start_share", "ema.lags"},
           .derive = derive_averaged},
          {.name = "heads that were not saved",
           .reads = {"event:head-missing", "event:training-ended", "series:*"},
           .gives = {"load.head_redrawn"},
           .derive = derive_redrawn},
          {.name = "boxes",
           .reads = {"error.box-list.x1", "error.box-list.y1", "error.box-list.x2",
                     "error.box-list.y2"},
           .gives = {"data.degenerate_box"},
           .derive = derive_boxes},
          {.name = "mistaken settings",
           .reads = {"model.dropout"},
           .gives = {"setting.mistake.dropout"},
           .derive = derive_mistakes}};
}

}  // namespace aplomb::diagnosis

#include "diagnosis/derived_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

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
    magnitude();
    schedule();
    boxes();
    reinforcement();
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
  void climbs_from_start(double drop);
  void magnitude();
  void schedule();
  void boxes();
  void reinforcement();
  std::optional<double> lr_at(double step) const;
  void lr_path(double peak);
  std::optional<double> weights() const;
  std::string lr_method() const;
  bool hugging_face_log() const;
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

/// The Trainer's log says `learning_rate` and `epoch` beside the loss; most of what it trains are
/// language models.
bool Deriver::hugging_face_log() const {
  const auto printed = [&](std::string_view raw) {
    return std::any_of(run_.series.begin(), run_.series.end(),
                       [&](const Series& series) { return series.raw_name == raw; });
  };
  return printed("learning_rate") && printed("epoch") && printed("loss");
}

void Deriver::kind() {
  const std::string method = text("train.method");
  const bool rewarded =
      known("rl.num_generations") || known("rl.reward_functions") || truth("error.grpo-in-use") ||
      std::any_of(run_.series.begin(), run_.series.end(), [](const Series& series) {
        return series.role == Role::reward || series.role == Role::reward_component ||
               series.role == Role::reward_std || lower(series.name).starts_with("reward");
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

/// Number of weights: as stated, or that of a transformer of these measures (12 layers hidden^2 and
/// the embedding, arXiv:2001.08361 table 1).
std::optional<double> Deriver::weights() const {
  if (const auto stated = number("model.params")) return stated;
  const auto layers = number("model.layers");
  const auto hidden = number("model.hidden");
  if (!layers || !hidden) return std::nullopt;
  const double embedding = *hidden * number("model.vocab_size").value_or(0);
  return 12 * *layers * *hidden * *hidden + embedding;
}

/// The learning rate summed over the steps. Adam moves no weight by more than about that
/// (arXiv:1412.6980, section 2.1), so it says how far training could get at all.
void Deriver::lr_path(double peak) {
  const Series* lr = run_.primary(Role::lr);
  const auto last_step = number("run.last_step");
  if (lr == nullptr || lr->size() < 3 || lr->step_kind != StepKind::explicit_) {
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
      "learning rate summed over the steps: " + show_number(sum) + ", Adam moves no weight by more",
      {"lr.max"});
}

void Deriver::learning_rate() {
  std::optional<double> peak = number("optim.lr");
  if (const auto seen = number("lr.max")) peak = std::max(peak.value_or(0), *seen);
  if (!peak) return;
  set("lr.peak", *peak, "peak learning rate " + show_number(*peak), {"optim.lr", "lr.max"});
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
  if (size && *size > 0 && *size < k_tiny && (method == "full" || method.empty()))
    method = "pretrain";
  const auto* usual = std::find_if(k_usual.begin(), k_usual.end(),
                                   [&](const Usual& row) { return row.method == method; });
  if (usual == k_usual.end()) return;
  double high = usual->high;
  if (method == "pretrain" && size && *size > 0 && *size < k_table_weights)
    high *= std::pow(k_table_weights / *size, k_table_exponent);
  set("lr.method", method, "learning rates of kind " + method);
  set("lr.usual_low", usual->low, "usual from " + show_number(usual->low));
  set("lr.usual_high", high, "usual up to " + show_number(high, 2));
  set("lr.over_usual", *peak / high,
      "learning rate " + show_number(*peak) + ", usual up to " + show_number(high, 2),
      {"optim.lr", "lr.max"});
  set("lr.under_usual", *peak > 0 ? usual->low / *peak : 1e9,
      "learning rate " + show_number(*peak) + ", usual from " + show_number(usual->low),
      {"optim.lr", "lr.max"});
}

/// The learning rate that was in force at a step.
std::optional<double> Deriver::lr_at(double step) const {
  const Series* lr = run_.primary(Role::lr);
  std::optional<double> found;
  if (lr == nullptr) return found;
  for (std::size_t i = 0; i < lr->size(); ++i) {
    if (static_cast<double>(lr->step[i]) > step && found) break;
    if (std::isfinite(lr->value[i])) found = lr->value[i];
  }
  return found;
}

/// The learning rate at the first non-finite sample: near 0 it cannot be what broke the run.
void Deriver::onset() {
  std::optional<double> step;
  for (const char* id : {"loss.nonfinite", "grad_norm.nonfinite", "component.nonfinite"}) {
    if (!truth(id)) continue;
    const auto at = number(std::string(id) + ".step");
    if (at && (!step || *at < *step)) step = at;
  }
  if (!step) return;
  if (const auto at_onset = lr_at(*step)) {
    set("lr.at_onset", *at_onset,
        "learning rate " + show_number(*at_onset) + " at the first non-finite value",
        {"loss.nonfinite", "grad_norm.nonfinite"});
  }
}

/// A log that begins in the middle of a run and whose loss climbs from its very first sample: what
/// a resume shows that restored the weights and not what moves them.
void Deriver::climbs_from_start(double drop) {
  constexpr double k_middle = 0.5;  // of the steps that the log reaches
  constexpr double k_first_steps = 1000;
  constexpr double k_noise = 0.02;
  const Series* loss = run_.primary(Role::loss);
  if (loss->step_kind != StepKind::explicit_ || loss->empty() || !truth("loss.divergence")) return;
  const auto first = static_cast<double>(loss->step.front());
  const auto last = static_cast<double>(loss->step.back());
  const bool midway = first > k_first_steps && first > k_middle * last;
  set("resume.climbs_from_start", midway && drop <= k_noise,
      "the log begins at step " + show_number(first, 8) +
          " and the loss climbs from its first sample",
      {"loss.first", "loss.divergence"});
}

void Deriver::progress() {
  const auto first = number("loss.first");
  const auto lowest = number("loss.min");
  if (first && lowest && *first > 0) {
    const double drop = (*first - *lowest) / *first;
    set("loss.drop_frac", drop, "loss falls by " + show_number(100 * drop, 2) + " %",
        {"loss.first", "loss.last"});
    climbs_from_start(drop);
  }
  const auto best = number("eval_loss.min");
  const auto points = number("eval_loss.points");
  if (const auto now = number("eval_loss.last"); now && best && points && *points >= 4) {
    // 10 % over the best: the corpus' own rule for a held-out loss that has turned.
    set("eval.rises", *now > 1.1 * *best && *best > 0,
        "held-out loss " + show_number(*best) + " at best, " + show_number(*now) + " at the end",
        {"eval_loss.last"});
  }
  const auto train = number("loss.last");
  const auto held_out = number("eval_loss.last");
  if (train && held_out) {
    set("eval.gap", *held_out - *train,
        "eval loss " + show_number(*held_out) + " against training loss " + show_number(*train),
        {"loss.last", "eval_loss.last"});
  }
}

/// Median of the finite samples of [begin, end); nothing where there is none.
std::optional<double> median(const Series& series, std::size_t begin, std::size_t end) {
  std::vector<double> finite;
  for (std::size_t i = begin; i < end; ++i) {
    if (std::isfinite(series.value[i])) finite.push_back(series.value[i]);
  }
  if (finite.empty()) return std::nullopt;
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  std::nth_element(finite.begin(), middle, finite.end());
  return *middle;
}

/// Losses that no sound model shows, and losses that do not move.
void Deriver::magnitude() {
  // A thousand nats are beyond any untrained classifier (ln of its classes) and beyond squared
  // errors of scaled targets; a run whose loss was always so large is judged by its growth.
  constexpr double k_huge = 1e3;
  constexpr double k_growth = 100;
  for (const Series& series : run_.series) {
    if (series.role != Role::loss && series.role != Role::loss_component) continue;
    const bool huge =
        series.max > k_huge && (series.count <= 3 || series.max > k_growth * std::fabs(series.min));
    if (!huge || text("run.kind") == "rl") continue;
    const bool first = !series.empty() && series.value.front() > k_huge;
    set("loss.large", true, series.name + " reaches " + show_number(series.max), {"loss.max"});
    set("loss.large.first", first, series.name + " starts at " + show_number(series.max));
    break;
  }
  if (const auto accumulation = number("batch.accumulation"); accumulation && *accumulation > 1) {
    if (const auto first = number("loss.first")) {
      set("loss.first_per_accumulation", *first / *accumulation,
          "first loss " + show_number(*first) + " over " + show_number(*accumulation) +
              " accumulation steps",
          {"loss.first", "batch.accumulation"});
    }
  }
  const Series* loss = run_.primary(Role::loss);
  constexpr std::size_t k_halves = 8;  // fewer samples than this have no halves worth comparing
  if (loss == nullptr || loss->size() < k_halves || text("run.kind") == "rl") return;
  const auto before = median(*loss, 0, loss->size() / 2);
  const auto after = median(*loss, loss->size() / 2, loss->size());
  if (!before || !after || *before <= 0) return;
  // A loss that trains falls by more than 3 % from the first half to the second; one that doubles
  // diverges instead.
  const bool flat = *after > 0.97 * *before && *after < 2 * *before;
  set("loss.flat", flat,
      "loss " + show_number(*before) + " in the first half, " + show_number(*after) +
          " in the second",
      {"loss.first", "loss.last"});
  double classes = number("data.class_count").value_or(0);
  if (classes < 2 && flat && std::fabs(*after - std::log(2.0)) < 0.005) classes = 2;
  if (flat && classes >= 2 && std::fabs(*after - std::log(classes)) < 0.02 * std::log(classes)) {
    set("loss.chance_level", true,
        "loss " + show_number(*after) + " is ln(" + show_number(classes) + "), that of guessing",
        {"loss.last"});
  }
}

void Deriver::schedule() {
  const auto warmup = number("schedule.warmup_steps");
  const auto steps = number("train.max_steps");
  if (warmup && steps && *steps > 0) {
    set("schedule.warmup_covers_run", *warmup >= *steps,
        "warm-up of " + show_number(*warmup) + " steps in a run of " + show_number(*steps),
        {"schedule.warmup_steps", "train.max_steps"});
  }
  const auto turned = number("loss.divergence.best_step");
  if (truth("loss.divergence") && turned) {
    if (const auto rate = lr_at(*turned + 1)) {
      set("lr.at_divergence", *rate,
          "learning rate " + show_number(*rate) + " where the loss turned", {"loss.divergence"});
    }
  }
  const auto last_step = number("run.last_step");
  const auto epochs = number("epoch.max");
  if (last_step && epochs && *epochs > 0.01) {
    set("run.steps_per_epoch", *last_step / *epochs,
        show_number(*last_step / *epochs, 3) + " steps a pass over the data", {"epoch.max"});
  }
}

/// Boxes printed as (x1, y1, x2, y2) with x2 <= x1 or y2 <= y1. Where one is impossible as width
/// and height too, it is the corner that is wrong.
void Deriver::boxes() {
  const auto x1 = number("error.box-list.x1");
  const auto y1 = number("error.box-list.y1");
  const auto x2 = number("error.box-list.x2");
  const auto y2 = number("error.box-list.y2");
  if (!x1 || !y1 || !x2 || !y2) return;
  const bool wrong = *x2 <= *x1 || *y2 <= *y1 || *x1 < 0 || *y1 < 0;
  set("data.degenerate_box", wrong,
      "box (" + show_number(*x1) + ", " + show_number(*y1) + ", " + show_number(*x2) + ", " +
          show_number(*y2) + ")",
      {"error.box-list.x1"});
}

void Deriver::reinforcement() {
  if (const auto ratio = number("error.is-ratio-printed.ratio")) {
    // TRL's own tests take a first-step ratio within 5 % of 1 as equal.
    set("rl.is_ratio_off", std::fabs(*ratio - 1) > 0.05, "importance ratio " + show_number(*ratio),
        {"error.is-ratio-printed"});
  }
  for (const Series& series : run_.series) {
    if (series.role == Role::reward_component_std && series.max > 1e-6) {
      set("reward.scores_vary", true, series.name + " up to " + show_number(series.max));
    }
  }
  if (const Series* series = run_.primary(Role::logp_difference);
      series != nullptr && series->size() >= 4) {
    const auto before = median(*series, 0, series->size() / 2);
    const auto after = median(*series, series->size() / 2, series->size());
    if (before && after && *before > 0) {
      set("logp_difference.rising", *after > 2 * *before,
          "difference of log-probabilities " + show_number(*before) + " -> " + show_number(*after));
    }
  }
}

}  // namespace

void derive_facts(const Run& run, FactTable& facts) { Deriver(run, facts).run(); }

}  // namespace aplomb

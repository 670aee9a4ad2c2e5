/// Facts of the learning rate: its peak against what is usual, its schedule, its value where things
/// turned.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// The highest that is seen, else the one that is asked for; of a schedule with a peak of its own,
/// that one.
void derive_peak(FactView& view) {
  const auto asked = view.number("optim.lr");
  const auto seen = view.number("lr.max");
  const auto acting = view.number("schedule.acting_lr");
  std::optional<double> peak = asked;
  if (seen) peak = std::max(peak.value_or(0), *seen);
  if (acting && asked && *asked > 0 && !seen) {
    constexpr double k_far = 2;  // what a learning rate may be off by without harm
    const double ratio = *acting / *asked;
    view.set("lr.replaced", ratio >= k_far || ratio <= 1 / k_far,
             fmt::format("the schedule's own peak of {} takes the place of the learning rate of {}",
                         core::show_number(*acting), core::show_number(*asked)),
             {"schedule.acting_lr", "optim.lr"});
  }
  if (acting && !seen) peak = acting;
  if (peak)
    view.set("lr.peak", *peak, "peak learning rate " + core::show_number(*peak),
             {"optim.lr", "lr.max"});
}

/// The learning rate summed over the steps. Adam moves no weight by more than about that
/// (arXiv:1412.6980, section 2.1), so it says how far training could get at all.
void derive_path(FactView& view) {
  const auto peak = view.number("lr.peak");
  if (!peak) return;
  const record::Series* lr = view.series(record::Role::lr);
  const auto last_step = view.number("run.last_step");
  if (lr == nullptr || lr->size() < 3 || lr->step_kind != record::StepKind::explicit_) {
    if (last_step) {
      view.set("lr.path", *peak * *last_step, "peak learning rate times steps",
               {"optim.lr", "lr.max"});
    }
    return;
  }
  double sum = 0;
  for (std::size_t i = 1; i < lr->size(); ++i) {
    const auto steps = static_cast<double>(lr->step[i] - lr->step[i - 1]);
    if (steps > 0 && std::isfinite(lr->value[i])) sum += steps * lr->value[i];
  }
  view.set("lr.path", sum,
           "learning rate summed over the steps: " + core::show_number(sum) +
               ", Adam moves no weight by more",
           {"lr.max"});
}

/// Rewards train a policy over the actions of an environment, and not a language model: values of
/// actions, returns, episodes are logged, and nothing says completions.
bool acts_in_environment(FactView& view) {
  const std::string method = view.word("train.method");
  const bool language = method == "grpo" || method == "rloo" || view.known("rl.num_generations") ||
                        view.known("rl.reward_functions") || view.known("model.name") ||
                        view.truth("config.adapter") || view.text("framework.kind") == "language" ||
                        view.series(record::Role::completion_length) != nullptr;
  if (language) return false;
  const auto& all = view.all_series();
  return view.word("task.kind") == "value" || view.truth("code.environment") ||
         view.truth("code.next-value") ||
         std::any_of(all.begin(), all.end(), [](const record::Series& series) {
           return core::icontains(series.raw_name, "return") ||
                  core::icontains(series.raw_name, "episode") ||
                  core::icontains(series.raw_name, "ep_rew") ||
                  core::icontains(series.raw_name, "ep_len");
         });
}

/// Which rule of thumb for the peak learning rate applies.
std::string method_of(FactView& view) {
  const std::string kind = view.text("run.kind");
  const std::string method = view.word("train.method");
  const bool adapter = view.truth("config.adapter");
  if (kind == "rl") return acts_in_environment(view) ? "control" : "rl";
  if (view.text("config.optimizer") == "sgd") return "sgd";
  if (method == "dpo") return adapter ? "lora" : "full";
  if (adapter) return "lora";
  const bool from_scratch = view.truth("model.from_scratch") ||
                            view.word("model.name") == "scratch" ||
                            view.text("framework.method") == "pretrain";
  if (method == "pretrain" || (from_scratch && method.empty())) return "pretrain";
  if (kind == "llm" && (view.known("model.name") || method == "sft")) return "full";
  return kind == "vision" ? "vision" : "";
}

void derive_usual(FactView& view) {
  struct Usual {
    std::string_view method;
    double low, high;
  };
  // full, lora: the ranges of axolotl's stability guide; pretrain: GPT-3 table 2.1
  // (arXiv:2005.14165) from 175B to 125M; rl: from below TRL's default (1e-6) and DeepSeekMath's
  // (arXiv:2402.03300) to Open-R1's small-model recipes (2e-5); control: stable-baselines3's
  // defaults, 1e-4 (DQN) to 7e-4 (A2C), and CleanRL's of 1e-3; sgd, vision: 0.02 a batch of 16 is
  // detectron2's default, 0.1 a batch of 256 ResNet's (arXiv:1512.03385).
  static constexpr std::array<Usual, 7> k_usual = {{{"full", 1e-5, 5e-5},
                                                    {"lora", 1e-4, 3e-4},
                                                    {"pretrain", 6e-5, 6e-4},
                                                    {"rl", 5e-7, 2e-5},
                                                    {"control", 1e-4, 1e-3},
                                                    {"sgd", 1e-3, 1e-1},
                                                    {"vision", 1e-4, 2e-2}}};
  // Small models stand more, by the exponent of that table (nanoGPT's 10 M characters: 1e-3); and
  // one of fewer than 10 M weights is no pretrained one.
  constexpr double k_table_weights = 125e6;
  constexpr double k_table_exponent = 0.32;
  const auto peak = view.number("lr.peak");
  if (!peak) return;
  std::string method = method_of(view);
  const bool drawn = view.truth("config.toy") || view.truth("code.drawn-weights");
  if (drawn && (method == "full" || method == "rl" || method.empty())) method = "pretrain";
  const auto* usual = std::find_if(k_usual.begin(), k_usual.end(),
                                   [&](const Usual& row) { return row.method == method; });
  if (usual == k_usual.end()) return;
  double high = usual->high;
  const auto weights = view.positive("config.weights");
  if ((method == "pretrain" || method == "lora") && weights && *weights < k_table_weights)
    high *= std::pow(k_table_weights / *weights, k_table_exponent);
  // A model's name in a log says nothing of an adapter: that there is none a configuration says, by its
  // other settings, or the method.
  const bool configured = view.known("batch.micro") || view.known("train.epochs");
  if (method == "full" && !view.known("config.adapter") && !configured &&
      view.word("train.method").empty())
    high = k_usual[1].high;
  view.set("lr.method", method, "learning rates of kind " + method);
  view.set("lr.usual_low", usual->low, "usual from " + core::show_number(usual->low));
  view.set("lr.usual_high", high, "usual up to " + core::show_number(high, 2));
  view.set(
      "lr.over_usual", *peak / high,
      "learning rate " + core::show_number(*peak) + ", usual up to " + core::show_number(high, 2),
      {"optim.lr", "lr.max"});
  view.set(
      "lr.under_usual", *peak > 0 ? usual->low / *peak : 1e9,
      "learning rate " + core::show_number(*peak) + ", usual from " + core::show_number(usual->low),
      {"optim.lr", "lr.max"});
}

/// The learning rate that was in force at a step.
std::optional<double> lr_at(const record::Series* lr, double step) {
  std::optional<double> found;
  if (lr == nullptr) return found;
  for (std::size_t i = 0; i < lr->size(); ++i) {
    if (static_cast<double>(lr->step[i]) > step && found) break;
    if (std::isfinite(lr->value[i])) found = lr->value[i];
  }
  return found;
}

/// The learning rate at the first non-finite sample: near 0 it cannot be what broke the run.
void derive_onset(FactView& view) {
  std::optional<double> step;
  for (const char* id : {"loss.nonfinite", "grad_norm.nonfinite", "component.nonfinite"}) {
    if (!view.truth(id)) continue;
    const auto at = view.number(std::string(id) + ".step");
    if (at && (!step || *at < *step)) step = at;
  }
  if (!step) return;
  if (const auto at_onset = lr_at(view.series(record::Role::lr), *step)) {
    view.set("lr.at_onset", *at_onset,
             "learning rate " + core::show_number(*at_onset) + " at the first non-finite value",
             {"loss.nonfinite", "grad_norm.nonfinite"});
  }
}

void derive_turn(FactView& view) {
  const auto turned = view.number("loss.divergence.best_step");
  if (!view.truth("loss.divergence") || !turned) return;
  if (const auto rate = lr_at(view.series(record::Role::lr), *turned + 1)) {
    view.set("lr.at_divergence", *rate,
             "learning rate " + core::show_number(*rate) + " where the loss turned",
             {"loss.divergence"});
  }
}

void derive_whole_warmup(FactView& view) {
  const record::Fact* share = view.find("config.warmup_share");
  const auto part = view.number("config.warmup_share");
  if (part) {
    view.set("schedule.warmup_covers_run", *part >= 1, share->because, {"config.warmup_share"});
  } else if (view.known("config.warmup") && !view.truth("config.warmup")) {
    view.set("schedule.warmup_covers_run", false, "no warm-up", {"config.warmup"});
  }
}

/// Where the logged rate, behind its warm-up, is not the one that the settings make: another peak, or
/// another shape. What is set in words that hold several shapes (onecycle, plateau, ...) is not held
/// against the log.
/// A warm-up of several steps is set, and the first step has the full rate already.
bool lacks_set_warmup(const FactView& view, const record::Series& lr) {
  constexpr double k_full = 0.9;       // of the peak
  constexpr double k_least_steps = 3;  // of a warm-up: shorter ones end between two records
  if (lr.size() < 2 || lr.step[0] > 1 || lr.value[0] < k_full * lr.max) return false;
  const auto steps = view.positive("schedule.warmup_steps");
  const auto share = view.positive("schedule.warmup_frac");
  const double least = steps ? *steps : share ? *share * static_cast<double>(lr.step.back()) : 0;
  return least >= k_least_steps;
}

void derive_as_set(FactView& view) {
  const record::Series* lr = view.series(record::Role::lr);
  if (lr != nullptr && lr->max > 0 && lr->nonfinite_count == 0 && lacks_set_warmup(view, *lr)) {
    view.set_at(
        "lr.lacks_set_warmup", true,
        fmt::format("a warm-up is set, and the logged learning rate is {} at step {} already",
                    core::show_number(lr->value[0], 3), lr->step[0]),
        {lr->origin(0)});
  }
  const std::string set = view.word("schedule.name");
  constexpr std::size_t k_least = 10;   // records
  constexpr double k_flat = 0.01;       // of the peak: three printed digits
  constexpr double k_seen_share = 0.3;  // of the run: a cosine has lost a fifth of its peak there
  constexpr double k_fell = 0.2;        // of the peak, where a constant was set
  if (lr == nullptr || lr->size() < k_least || set.empty() || lr->nonfinite_count > 0) return;
  if (!(lr->max > 0)) return;
  std::size_t peak = 0;
  while (lr->value[peak] < lr->max * (1 - k_flat)) ++peak;
  double low = lr->max;
  for (std::size_t i = peak; i < lr->size(); ++i) low = std::min(low, lr->value[i]);
  const double fall = 1 - low / lr->max;
  const bool falls = set.starts_with("cosine") || set == "linear" || set == "polynomial";
  const bool stays = set == "constant" || set == "constant_with_warmup";
  const auto planned = view.positive("config.steps");
  const auto reached = static_cast<double>(lr->step.back());
  const bool far = planned && reached >= k_seen_share * *planned && peak + k_least <= lr->size() &&
                   static_cast<double>(lr->step[peak]) <= reached / 2;
  const std::vector<record::Origin> places = {lr->origin(peak), lr->origin(lr->size() - 1)};
  if (falls && far) {
    view.set_at("lr.not_as_set", fall <= k_flat,
                fmt::format("the schedule is set to {}, and the logged learning rate stays at {} "
                            "from step {} to {} of {}",
                            set, core::show_number(lr->max, 3), lr->step[peak], lr->step.back(),
                            core::show_number(*planned, 9)),
                places);
  } else if (stays && peak + k_least <= lr->size()) {
    view.set_at("lr.not_as_set", fall >= k_fell,
                fmt::format("the schedule is set to {}, and the logged learning rate falls from {} "
                            "to {}",
                            set, core::show_number(lr->max, 3), core::show_number(low, 3)),
                places);
  }
}

}  // namespace

std::vector<facts::Deriver> lr_facts() {
  return {
      {.name = "peak learning rate",
       .reads = {"optim.lr", "lr.max", "schedule.acting_lr"},
       .gives = {"lr.peak", "lr.replaced"},
       .derive = derive_peak},
      {.name = "learning rate against its settings",
       .reads = {"series:lr", "schedule.name", "config.steps", "schedule.warmup_steps",
                 "schedule.warmup_frac"},
       .gives = {"lr.not_as_set", "lr.lacks_set_warmup"},
       .derive = derive_as_set},
      {.name = "learning rate over the steps",
       .reads = {"lr.peak", "run.last_step", "series:lr", "optim.lr", "lr.max"},
       .gives = {"lr.path"},
       .derive = derive_path},
      {.name = "usual learning rates",
       .reads = {"lr.peak",
                 "run.kind",
                 "train.method",
                 "config.adapter",
                 "config.optimizer",
                 "config.weights",
                 "config.toy",
                 "batch.micro",
                 "train.epochs",
                 "framework.method",
                 "model.from_scratch",
                 "model.name",
                 "optim.lr",
                 "lr.max",
                 "task.kind",
                 "rl.num_generations",
                 "rl.reward_functions",
                 "framework.kind",
                 "series:completion_length",
                 "series:*",
                 "code.drawn-weights",
                 "code.environment",
                 "code.next-value"},
       .gives = {"lr.method", "lr.usual_low", "lr.usual_high", "lr.over_usual", "lr.under_usual"},
       .derive = derive_usual},
      {.name = "learning rate at the onset",
       .reads = {"loss.nonfinite", "loss.nonfinite.step", "grad_norm.nonfinite",
                 "grad_norm.nonfinite.step", "component.nonfinite", "component.nonfinite.step",
                 "series:lr"},
       .gives = {"lr.at_onset"},
       .derive = derive_onset},
      {.name = "learning rate at the turn",
       .reads = {"loss.divergence", "loss.divergence.best_step", "series:lr"},
       .gives = {"lr.at_divergence"},
       .derive = derive_turn},
      {.name = "warm-up as long as the run",
       .reads = {"config.warmup", "config.warmup_share"},
       .gives = {"schedule.warmup_covers_run"},
       .derive = derive_whole_warmup}};
}

}  // namespace aplomb::diagnosis

#include "preflight/asked_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/text.h"
#include "knowledge/trainer.h"
#include "preflight/asked_deriver.h"

namespace aplomb::preflight {
void Asked::trainer() {
  const std::string slug = knowledge::trainer_of(run_);
  if (slug.empty()) return;
  set("asked.trainer", slug, "configured for " + slug);
  set("asked.hf", is_kind_of(slug, "hf-trainer"), "the Trainer of transformers trains");
}

/// All weights or an adapter; and whether learning rates mean what they mean to Adam.
void Asked::method() {
  const std::string method = text("peft.method");
  const bool whole = method == "full" || method == "freeze";
  const bool adapter = !whole && (!method.empty() || positive("peft.rank") || truth("peft.used"));
  if (adapter) set("asked.lora", true, "an adapter trains", {"peft.method", "peft.rank"});
  const bool configured = known("optim.lr") || known("batch.micro");
  if (configured || whole) {
    set("asked.full", !adapter && !positive("quant.bits"),
        adapter ? "an adapter trains" : "all weights train");
  }
  const std::string optimizer = text("optim.name");
  const bool adam = optimizer.empty() || (optimizer.find("adam") != std::string::npos &&
                                          optimizer.find("galore") == std::string::npos);
  set("asked.adam", adam, optimizer.empty() ? "no other optimizer said" : optimizer);
}

/// A model that is made to try something out: by its weights, counted as in lr_facts.cpp.
void Asked::size() {
  constexpr double k_toy = 10e6;
  const auto layers = positive("model.layers");
  const auto hidden = positive("model.hidden");
  double weights = positive("model.params").value_or(0);
  if (weights <= 0 && layers && hidden) {
    weights = 12 * *layers * *hidden * *hidden + *hidden * positive("model.vocab_size").value_or(0);
  }
  if (weights > 0)
    set("asked.toy", weights < k_toy, "about " + core::show_number(weights, 2) + " weights",
        {"model.params", "model.hidden", "model.layers"});
}

/// Data-parallel ranks, where they are said.
std::optional<double> Asked::ranks() const {
  if (const auto world = positive("batch.world")) return world;
  const double split = positive("dist.tensor_parallel").value_or(1) *
                       positive("dist.pipeline_parallel").value_or(1) *
                       positive("dist.context_parallel").value_or(1);
  if (const auto world = positive("dist.world_size")) return std::max(1.0, *world / split);
  const auto per_node = positive("dist.procs_per_node");
  if (per_node) return std::max(1.0, *per_node * positive("dist.nodes").value_or(1) / split);
  return std::nullopt;
}

void Asked::batch() {
  const Asked::Names from = {"batch.micro", "batch.accumulation", "dist.world_size", "batch.world"};
  const auto world = ranks();
  const std::string strategy = text("dist.strategy");
  if (world) {
    set("asked.ranks", *world, core::show_number(*world) + " data-parallel ranks",
        {"batch.world", "dist.world_size", "dist.procs_per_node"});
    set("asked.distributed", *world > 1, core::show_number(*world) + " ranks", {"dist.world_size"});
  } else if (strategy == "ddp" || strategy == "fsdp" || strategy == "fsdp2") {
    set("asked.distributed", true, strategy, {"dist.strategy"});
  }
  const auto micro = positive("batch.micro");
  const double stated =
      run_.setting("batch.global") == nullptr ? 0 : positive("batch.global").value_or(0);
  if (!micro) {
    if (stated > 0)
      set("asked.batch", stated, "a global batch of " + core::show_number(stated), from);
    return;
  }
  const auto accumulation = positive("batch.accumulation");
  const double product = *micro * accumulation.value_or(1) * world.value_or(1);
  std::string told = fmt::format("{} a device x {} accumulated", core::show_number(*micro),
                                 core::show_number(accumulation.value_or(1)));
  told += world ? fmt::format(" x {} ranks", core::show_number(*world)) : " on each rank";
  set("asked.batch", stated > 0 ? stated : product, told, from);
  set("asked.batch_told", told, told, from);
  if (stated <= 0) return;
  if (accumulation && world) {
    set("asked.batch_product", product, told, from);
    set("asked.batch_off", std::fabs(product - stated) > 0.5,
        fmt::format("{} = {}, and {} is asked for", told, core::show_number(product),
                    core::show_number(stated)),
        {"batch.global", "batch.micro", "batch.accumulation"});
  }
  const double part = *micro * accumulation.value_or(1) * world.value_or(1);
  set("asked.batch_indivisible", std::fmod(stated, part) > 0.5,
      fmt::format("{} is no multiple of {}", core::show_number(stated), core::show_number(part)),
      {"batch.global", "batch.micro"});
}

/// Steps, from what is stated or from samples and batch.
void Asked::length() {
  const auto samples = positive("data.samples");
  const auto batch = positive("asked.batch");
  const auto max_steps = positive("train.max_steps");
  const auto epochs = positive("train.epochs");
  std::optional<double> steps = max_steps;
  if (samples && batch) {
    const double per_epoch =
        truth("data.drop_last") ? std::floor(*samples / *batch) : std::ceil(*samples / *batch);
    set("asked.steps_per_epoch", per_epoch,
        fmt::format("{} samples / {} = {} steps a pass", core::show_number(*samples, 9),
                    core::show_number(*batch), core::show_number(per_epoch, 9)),
        {"data.samples", "batch.micro"});
    if (!steps && epochs) steps = std::ceil(*epochs * per_epoch);
    if (max_steps && per_epoch > 0) {
      set("asked.epochs", *max_steps / per_epoch,
          core::show_number(*max_steps / per_epoch, 3) + " passes over the data",
          {"train.max_steps", "data.samples"});
    }
  }
  if (!max_steps && epochs)
    set("asked.epochs", *epochs, core::show_number(*epochs) + " passes", {"train.epochs"});
  if (steps) {
    set("asked.steps", *steps, core::show_number(*steps, 9) + " optimizer steps",
        {"train.max_steps", "train.epochs", "data.samples"});
  }
}

void Asked::schedule() {
  const auto steps = positive("asked.steps");
  const auto share = number("schedule.warmup_frac");
  const auto warmup = number("schedule.warmup_steps");
  if (warmup && *warmup > 0) {
    set("asked.warmup", true, "warm-up", {"schedule.warmup_steps"});
    if (steps) {
      set("asked.warmup_share", *warmup / *steps,
          fmt::format("{} of {} steps warm up", core::show_number(*warmup, 9),
                      core::show_number(*steps, 9)),
          {"schedule.warmup_steps", "train.max_steps"});
    }
  } else if (share) {
    set("asked.warmup", *share > 0, "warm-up", {"schedule.warmup_frac"});
    set("asked.warmup_share", *share, core::show_number(*share * 100) + " % of the run warms up",
        {"schedule.warmup_frac"});
  } else if (warmup) {
    set("asked.warmup",
        positive("schedule.warmup_epochs").has_value() ||
            text("schedule.name").find("warmup") != std::string::npos,
        "no warm-up", {"schedule.warmup_steps"});
  }
  if (const auto decay = positive("schedule.decay_steps"); decay && steps) {
    set("asked.decay_share", *decay / *steps,
        fmt::format("the schedule ends at step {} of {}", core::show_number(*decay, 9),
                    core::show_number(*steps, 9)),
        {"schedule.decay_steps", "train.max_steps"});
  }
}

/// Off everywhere: a loader for evaluation or a PPO mini-batch that is not shuffled says nothing of
/// the training data.
void Asked::order() {
  std::vector<record::Origin> places;
  for (const record::Setting& setting : run_.settings) {
    if (setting.name != "data.shuffle") continue;
    if (core::is_true(setting.value)) return;
    places.push_back(setting.origin);
  }
  if (!places.empty()) facts_.set({"asked.unshuffled", true, "shuffle is off", std::move(places)});
}

/// How often is saved, evaluated and logged over the run.
void Asked::cadence() {
  const auto steps = positive("asked.steps");
  const auto times = [&](const char* setting, const char* fact, const char* what) {
    const auto every = positive(setting);
    if (!every) return;
    const double count = *every < 1 ? 1 / *every : steps ? std::floor(*steps / *every) : -1;
    if (count < 0) return;
    set(fact, count, fmt::format("{} {}", core::show_number(count), what),
        {setting, "train.max_steps"});
  };
  const std::string saved = text("save.strategy");
  const std::string evaluated = text("eval.strategy");
  if (saved.empty() || saved == "steps")
    times("save.steps", "asked.checkpoints", "checkpoints before the end");
  if (evaluated == "steps") times("eval.steps", "asked.evaluations", "evaluations");
  times("log.steps", "asked.log_lines", "log lines");
  best_checkpoint();
}

/// The Trainer stops at the start where the best checkpoint is to be kept but is not saved when it
/// is found.
void Asked::best_checkpoint() {
  if (!truth("save.best_at_end")) return;
  const std::string saved = text("save.strategy").empty() ? "steps" : text("save.strategy");
  const std::string evaluated = text("eval.strategy").empty() ? "no" : text("eval.strategy");
  bool off = saved != evaluated && saved != "best";
  std::string told = fmt::format("evaluated by '{}', saved by '{}'", evaluated, saved);
  const auto save = positive("save.steps");
  const auto evaluate = positive("eval.steps");
  if (!off && saved == "steps" && save && evaluate && *save >= 1 && *evaluate >= 1) {
    off = std::fmod(*save, *evaluate) > 0.5;
    told = fmt::format("saved every {} steps, evaluated every {}", core::show_number(*save, 9),
                       core::show_number(*evaluate, 9));
  }
  set("asked.best_off", off, told, {"save.best_at_end", "save.steps", "eval.steps"});
}

void add_asked_facts(const record::Run& run, diagnosis::FactTable& facts) {
  Asked(run, facts).all();
}

}  // namespace aplomb::preflight

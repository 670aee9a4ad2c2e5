#include "preflight/config_facts.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "core/text.h"
#include "diagnosis/rule_facts.h"
#include "knowledge/document.h"
#include "knowledge/trainer.h"

namespace aplomb::preflight {
namespace {

using facts::FactView;

void derive_trainer(FactView& view) {
  const std::string slug = view.trainer();
  if (slug.empty()) return;
  const std::string base = knowledge::base_of(slug);
  view.set("config.trainer", slug, "configured for " + slug);
  view.set("config.trainer_base", base, slug + " stands on " + base);
}

/// All weights or an adapter; and whether learning rates mean what they mean to Adam.
void derive_method(FactView& view) {
  const bool adapter = view.truth("config.adapter");
  if (view.known("optim.lr") || view.known("batch.micro") || view.known("config.adapter")) {
    view.set("config.full", !adapter && !view.positive("quant.bits"),
             adapter ? "an adapter trains" : "all weights train");
  }
  const std::string optimizer = view.text("optim.name");
  const std::string kind = view.text("config.optimizer");
  view.set("config.adam", kind.empty() || kind == "adam",
           optimizer.empty() ? "no other optimizer said" : optimizer);
}

/// Whether the global batch that is stated can come about.
void derive_batch_faults(FactView& view) {
  const auto micro = view.positive("batch.micro");
  const auto product = view.positive("config.batch_product");
  const auto stated = view.positive("batch.global");
  if (!micro || !product || !stated || view.statements("batch.global").empty()) return;
  if (view.positive("batch.accumulation") && view.positive("config.ranks")) {
    view.set("config.batch_off", std::fabs(*product - *stated) > 0.5,
             fmt::format("{} = {}, and {} is asked for", view.text("config.batch_told"),
                         core::show_number(*product), core::show_number(*stated)),
             {"batch.global", "batch.micro", "batch.accumulation"});
  }
  view.set("config.batch_indivisible", std::fmod(*stated, *product) > 0.5,
           fmt::format("{} is no multiple of {}", core::show_number(*stated),
                       core::show_number(*product)),
           {"batch.global", "batch.micro"});
}

/// Off everywhere: a loader for evaluation or a PPO mini-batch that is not shuffled says nothing of
/// the training data.
void derive_order(FactView& view) {
  std::vector<record::Origin> places;
  for (const record::Setting* setting : view.statements("data.shuffle")) {
    if (core::is_true(setting->value)) return;
    places.push_back(setting->origin);
  }
  if (!places.empty()) view.set_at("config.unshuffled", true, "shuffle is off", std::move(places));
}

/// How often is saved, evaluated and logged over the run.
void derive_cadence(FactView& view) {
  const auto steps = view.positive("config.steps");
  const auto times = [&](const char* setting, const char* fact, const char* what) {
    const auto every = view.positive(setting);
    if (!every) return;
    const double count = *every < 1 ? 1 / *every : steps ? std::floor(*steps / *every) : -1;
    if (count < 0) return;
    view.set(fact, count, fmt::format("{} {}", core::show_number(count), what),
             {setting, "train.max_steps"});
  };
  const std::string saved = view.word("save.strategy");
  if (saved.empty() || saved == "steps")
    times("save.steps", "config.checkpoints", "checkpoints before the end");
  if (view.word("eval.strategy") == "steps")
    times("eval.steps", "config.evaluations", "evaluations");
  times("log.steps", "config.log_lines", "log lines");
}

/// The Trainer stops at the start where the best checkpoint is to be kept but is not saved when it
/// is found.
void derive_best_checkpoint(FactView& view) {
  if (!view.truth("save.best_at_end")) return;
  const auto strategy = [&](const char* setting, const char* otherwise) {
    const std::string said = view.word(setting);
    return said.empty() ? std::string(otherwise) : said;
  };
  const std::string saved = strategy("save.strategy", "steps");
  const std::string evaluated = strategy("eval.strategy", "no");
  bool off = saved != evaluated && saved != "best";
  std::string told = fmt::format("evaluated by '{}', saved by '{}'", evaluated, saved);
  const auto save = view.positive("save.steps");
  const auto evaluate = view.positive("eval.steps");
  if (!off && saved == "steps" && save && evaluate && *save >= 1 && *evaluate >= 1) {
    off = std::fmod(*save, *evaluate) > 0.5;
    told = fmt::format("saved every {} steps, evaluated every {}", core::show_number(*save, 9),
                       core::show_number(*evaluate, 9));
  }
  view.set("config.best_off", off, told, {"save.best_at_end", "save.steps", "eval.steps"});
}

}  // namespace

std::vector<facts::Deriver> course_facts() {
  return {
      {.name = "trainer",
       .reads = {"source:*"},
       .gives = {"config.trainer", "config.trainer_base"},
       .derive = derive_trainer},
      {.name = "method",
       .reads = {"config.adapter", "config.optimizer", "optim.lr", "optim.name", "batch.micro",
                 "quant.bits"},
       .gives = {"config.full", "config.adam"},
       .derive = derive_method},
      {.name = "faults of the batch",
       .reads = {"batch.micro", "batch.accumulation", "batch.global", "setting:batch.global",
                 "config.batch_product", "config.batch_told", "config.ranks"},
       .gives = {"config.batch_off", "config.batch_indivisible"},
       .derive = derive_batch_faults},
      {.name = "order of the data",
       .reads = {"setting:data.shuffle"},
       .gives = {"config.unshuffled"},
       .derive = derive_order},
      {.name = "cadence",
       .reads = {"config.steps", "save.strategy", "save.steps", "eval.strategy", "eval.steps",
                 "log.steps", "train.max_steps"},
       .gives = {"config.checkpoints", "config.evaluations", "config.log_lines"},
       .derive = derive_cadence},
      {.name = "best checkpoint",
       .reads = {"save.best_at_end", "save.strategy", "save.steps", "eval.strategy", "eval.steps"},
       .gives = {"config.best_off"},
       .derive = derive_best_checkpoint}};
}

std::vector<facts::Deriver> config_derivers() {
  return facts::joined({course_facts(), size_facts(),
                        diagnosis::rule_facts(knowledge::file("preflight.yaml")["facts"])});
}

const facts::FactGraph& config_graph() {
  static const facts::FactGraph graph(config_derivers());
  return graph;
}

}  // namespace aplomb::preflight

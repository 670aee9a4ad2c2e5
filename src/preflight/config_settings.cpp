#include <algorithm>
#include <limits>

#include "core/text.h"
#include "knowledge/trainer.h"
#include "preflight/config_facts.h"
#include "preflight/rule_book.h"

namespace aplomb::preflight {
namespace {

constexpr record::SourceId k_no_source = std::numeric_limits<record::SourceId>::max();

bool configures_training(const record::Run& run) {
  return std::any_of(run.settings.begin(), run.settings.end(), [](const record::Setting& setting) {
    return setting.name == "optim.lr" || setting.name == "batch.micro" ||
           setting.name == "train.epochs" || setting.name == "train.max_steps";
  });
}

}  // namespace

bool is_default(const record::Origin& origin) { return origin.source == k_no_source; }

record::Run without_evaluation(record::Run run) {
  const auto evaluates = [](const record::Setting& setting) {
    if (setting.name.starts_with("eval.") || setting.name.starts_with("batch.eval") ||
        setting.name.starts_with("data.eval"))
      return false;
    const std::string key = "." + core::lower(setting.raw_key);
    return key.find(".eval") != std::string::npos || key.find(".val") != std::string::npos ||
           key.find(".test") != std::string::npos;
  };
  std::vector<record::Setting> kept;
  for (const record::Setting& setting : run.settings) {
    const bool stated_otherwise =
        evaluates(setting) &&
        std::any_of(run.settings.begin(), run.settings.end(), [&](const record::Setting& other) {
          return other.name == setting.name && !evaluates(other);
        });
    if (!stated_otherwise) kept.push_back(setting);
  }
  run.settings = std::move(kept);
  return run;
}

record::Run with_defaults(const record::Run& run) {
  record::Run out = run;
  if (!configures_training(run)) return out;
  const std::string trainer = knowledge::trainer_of(run);
  std::vector<record::Setting> first;
  for (const TrainerDefaults& defaults : rule_book().defaults) {
    if (!knowledge::is_built_on(trainer, defaults.framework)) continue;
    for (const auto& [name, value] : defaults.settings) {
      // Where the whole batch is said, what lies between it and the micro-batch is accumulated.
      if (name == "batch.accumulation" && run.setting("batch.global") != nullptr) continue;
      first.push_back({name, value, name + " (default)", trainer, {k_no_source, 0, 0}});
    }
  }
  out.settings.insert(out.settings.begin(), first.begin(), first.end());
  return out;
}

}  // namespace aplomb::preflight

#include "report/remedy_text.h"

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "knowledge/framework.h"
#include "knowledge/render.h"
#include "knowledge/trainer.h"

namespace aplomb::report {
namespace {

/// The frameworks in whose words the change is told: the run's own, or what most people use where
/// it is not known.
std::vector<std::string> frameworks_of(const record::Run& run) {
  const std::string own = knowledge::trainer_of(run);
  if (!own.empty()) return {own};
  const bool rewarded =
      run.primary(record::Role::reward) != nullptr || run.setting("rl.num_generations") != nullptr;
  const knowledge::Framework* usual = knowledge::usual_framework();
  if (usual == nullptr) return {};
  return {rewarded && !usual->with_rewards.empty() ? usual->with_rewards : usual->slug};
}

/// The keys under which the run's own files state its settings; of several the last, which is in
/// force.
knowledge::OwnKeys own_keys_of(const record::Run& run) {
  knowledge::OwnKeys own;
  for (const record::Setting& setting : run.settings)
    own[setting.name] = {setting.raw_key, setting.framework};
  return own;
}

/// `env.transformers` and its like.
knowledge::Versions versions_of(const record::Run& run) {
  knowledge::Versions versions;
  for (const record::Setting& setting : run.settings) {
    const std::string* version = core::as_text(setting.value);
    if (setting.name.starts_with("env.") && version != nullptr)
      versions[setting.name.substr(4)] = *version;
  }
  return versions;
}

/// What is trained for: as it is set, or as what is logged shows.
std::string method_of(const record::Run& run) {
  const record::Setting* set = run.setting("train.method");
  const std::string* word = set == nullptr ? nullptr : core::as_text(set->value);
  if (word != nullptr) return *word;
  const bool pairs = run.find("rewards/chosen") != nullptr;
  if (pairs) return "dpo";
  const bool rewarded =
      run.primary(record::Role::reward) != nullptr || run.setting("rl.num_generations") != nullptr;
  return rewarded ? "grpo" : "";
}

}  // namespace

std::map<std::string, std::string> render_remedy(const diagnosis::Remedy& remedy,
                                                 const record::Run& run) {
  if (remedy.set.empty()) return {};
  const knowledge::OwnKeys own = own_keys_of(run);
  std::map<std::string, std::string> rendered = {
      {"generic", knowledge::say_settings(remedy.set, own)}};
  const knowledge::Versions versions = versions_of(run);
  for (const std::string& framework : frameworks_of(run)) {
    std::string text =
        knowledge::render_settings(framework, remedy.set, {}, versions, method_of(run), own);
    if (!text.empty()) rendered[framework] = std::move(text);
    const knowledge::Framework* table = knowledge::find_framework(framework);
    if (table == nullptr || !table->command_line) continue;
    text = knowledge::render_settings(framework, remedy.set, "flags", versions, {}, own);
    if (!text.empty()) rendered[framework + " command line"] = std::move(text);
  }
  return rendered;
}

std::string as_sentence(std::string_view text) {
  if (text.starts_with("or ")) text.remove_prefix(3);
  std::string out = core::sanitize(text);
  const std::string_view word = std::string_view(out).substr(0, out.find(' '));
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '-' || c == ',';
  });
  if (plain && word.front() >= 'a') out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out;
}

}  // namespace aplomb::report

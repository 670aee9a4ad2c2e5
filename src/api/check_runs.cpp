#include "api/check_runs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "config_text/derived_settings.h"
#include "discovery/assemble.h"
#include "discovery/collect.h"
#include "discovery/file_search.h"
#include "knowledge/framework.h"
#include "preflight/data_check.h"
#include "preflight/data_sets.h"

namespace aplomb::api {
namespace {

constexpr std::size_t k_most_files = 20000;    ///< below one folder
constexpr std::size_t k_most_programs = 2000;  ///< of all

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// Each file as a run of its own; only of what may hold settings.
std::optional<record::Run> read_one(const std::string& path, const CheckOptions& options) {
  std::vector<record::Run> runs = discovery::collect({path}, {.progress = options.progress});
  if (runs.empty()) return std::nullopt;
  record::Run run = std::move(runs.front());
  run.series.clear();  // a run that is yet to start has none
  return run;
}

/// Whether the file starts runs by itself, unlike a model's config.json or DeepSpeed's file.
bool stands_alone(const record::Run& run) {
  return std::any_of(run.settings.begin(), run.settings.end(), [](const record::Setting& setting) {
    const knowledge::Framework* framework = knowledge::find_framework(setting.framework);
    const bool part = framework != nullptr && (framework->part || !framework->repeats.empty());
    return !part && (setting.name == "optim.lr" || setting.name == "batch.micro");
  });
}

/// Two configurations of which each would start a run: the same keys with other values.
bool are_alternatives(const record::Run& a, const record::Run& b) {
  if (!stands_alone(a) || !stands_alone(b)) return false;
  for (const record::Setting& mine : a.settings) {
    for (const record::Setting& other : b.settings) {
      if (mine.raw_key == other.raw_key && mine.name == other.name &&
          core::show(mine.value) != core::show(other.value))
        return true;
    }
  }
  return false;
}

/// The parts of one place -> runs: alternatives apart, each with the parts that cannot stand alone.
std::vector<record::Run> group(std::vector<record::Run> parts) {
  bool apart = false;
  for (std::size_t i = 0; i < parts.size() && !apart; ++i) {
    for (std::size_t j = i + 1; j < parts.size() && !apart; ++j)
      apart = are_alternatives(parts[i], parts[j]);
  }
  std::vector<record::Run> runs;
  if (!apart) {
    record::Run whole;
    for (record::Run& part : parts) discovery::merge_into(whole, std::move(part));
    runs.push_back(std::move(whole));
    return runs;
  }
  // Which part belongs to which of several configurations is not known: each is judged alone.
  for (record::Run& part : parts) runs.push_back(std::move(part));
  return runs;
}

using Found = std::map<std::string, std::vector<record::Run>>;

/// The folder of the model that a configuration in `folder` names by a path below it; empty where
/// it names none that was found.
std::string model_folder(const std::vector<record::Run>& parts, const std::string& folder,
                         const Found& found) {
  for (const record::Run& part : parts) {
    if (!stands_alone(part)) continue;
    for (const record::Setting& each : part.settings) {
      const bool names_model = each.name == "model.name" || each.name == "model.config";
      const std::string* path = names_model ? core::as_text(each.value) : nullptr;
      if (path == nullptr || path->empty()) continue;
      std::string place = (std::filesystem::path(folder) / *path).lexically_normal().string();
      if (place.ends_with(".json")) place = folder_of(place);
      while (place.ends_with('/')) place.pop_back();
      if (place.starts_with(folder + "/") && found.contains(place)) return place;
    }
  }
  return {};
}

/// A model's files below the configuration that names them are parts of its run.
void join_models(Found& found) {
  std::vector<std::string> taken;
  for (auto& [folder, parts] : found) {
    const std::string place = model_folder(parts, folder, found);
    if (place.empty()) continue;
    for (const record::Run& part : found.at(place)) {
      if (!stands_alone(part)) parts.push_back(part);
    }
    taken.push_back(place);
  }
  for (const std::string& place : taken) {
    std::erase_if(found.at(place), [](const record::Run& part) { return !stands_alone(part); });
    if (found.at(place).empty()) found.erase(place);
  }
}

void name_card(record::Run& run, const CheckOptions& options) {
  const bool named = run.setting("env.gpu") != nullptr;
  const std::string& card = !options.gpu.empty() ? options.gpu : options.local_gpu;
  if (card.empty() || (named && options.gpu.empty())) return;
  std::erase_if(run.facts,
                [](const record::Fact& fact) { return fact.name.starts_with("hardware."); });
  std::erase_if(run.settings, [](const record::Setting& setting) {
    return setting.name == "env.gpu" || setting.name == "env.gpu_memory_bytes";
  });
  const auto nowhere = static_cast<record::SourceId>(run.sources.size());
  run.settings.push_back({"env.gpu", card, "--gpu", {}, {nowhere, 0, 0}});
  config_text::add_derived_settings(run);
}

}  // namespace

CheckInputs sort_inputs(const std::vector<std::string>& paths) {
  CheckInputs inputs;
  for (const std::string& path : paths) {
    std::error_code no_throw;
    if (!std::filesystem::is_directory(path, no_throw)) {
      if (preflight::is_data(path)) {
        inputs.data.push_back(path);
        continue;
      }
      if (path.ends_with(".py")) inputs.programs.push_back(path);
      inputs.named.push_back(path);
      continue;
    }
    for (const discovery::FoundFile& file : discovery::search_folder(path, k_most_files).files) {
      const auto syntax = preflight::data_syntax(file.path);
      const bool opaque =
          syntax == preflight::DataSyntax::columns || syntax == preflight::DataSyntax::tokens;
      if (opaque && preflight::is_data(file.path)) {
        inputs.data.push_back(file.path);
      } else if (file.path.ends_with(".py") && inputs.programs.size() < k_most_programs) {
        inputs.programs.push_back(file.path);
      } else if (file.use == discovery::FileUse::read) {
        (preflight::is_data(file.path) ? inputs.data : inputs.found).push_back(file.path);
      }
    }
  }
  return inputs;
}

std::vector<record::Run> configured_runs(const CheckInputs& inputs, const CheckOptions& options) {
  std::vector<record::Run> named;
  for (const std::string& path : inputs.named) {
    if (auto run = read_one(path, options)) named.push_back(*std::move(run));
  }
  Found found;
  for (const std::string& path : inputs.found) {
    auto run = read_one(path, options);
    // What holds no settings is no configuration; its name in the report would tell nothing.
    if (run && !run->settings.empty()) found[folder_of(path)].push_back(*std::move(run));
  }
  join_models(found);
  std::vector<record::Run> runs;
  if (!named.empty()) runs = group(std::move(named));
  for (auto& [folder, parts] : found) {
    for (record::Run& run : group(std::move(parts))) runs.push_back(std::move(run));
  }
  for (record::Run& run : runs) name_card(run, options);
  return runs;
}

}  // namespace aplomb::api

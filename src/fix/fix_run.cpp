#include "fix/fix_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "config_text/config_support.h"
#include "knowledge/framework.h"
#include "report/view.h"

namespace aplomb::fix {
namespace {

using Settings = std::vector<knowledge::SettingValue>;

constexpr std::uintmax_t k_most_bytes = 4U << 20U;  // a configuration is written by people
/// TrainingArguments dumped as a whole have over a hundred keys; people write those that they
/// change.
constexpr std::size_t k_keys_of_a_dump = 60;

struct Candidate {
  ConfigFile file;
  std::string framework;  ///< whose keys it holds: as it tells, else the run's
  bool by_program = false;
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// What libraries leave beside a model: no run is started from these.
bool describes_a_model(std::string_view name) {
  return one_of(name, {"config.json", "generation_config.json", "tokenizer_config.json",
                       "special_tokens_map.json", "adapter_config.json", "tokenizer.json",
                       "preprocessor_config.json", "trainer_state.json", "wandb-metadata.json",
                       "wandb-summary.json"});
}

/// Whether a program wrote the file down: every default in it, or a place where trackers keep such
/// files.
bool written_by_program(const ConfigFile& file) {
  const std::string& path = file.path;
  const std::string_view name = config_text::file_name(path);
  const auto in = [&path](std::string_view folder) {
    return path.find(folder) != std::string::npos;
  };
  if (one_of(name, {"hparams.yaml", "overrides.yaml"}) || in("/.hydra/") || in("wandb/run-") ||
      in("wandb/offline-run-") || in("wandb/latest-run") || in("mlruns/") || in("checkpoint-"))
    return true;
  if (!name.ends_with(".json")) return false;
  const auto top = std::count_if(file.entries.begin(), file.entries.end(),
                                 [](const config_text::ConfigEntry& entry) {
                                   return entry.path.find('.') == std::string::npos;
                                 });
  const knowledge::Framework* table =
      knowledge::find_framework(config_text::framework_of(file.entries, path, "json"));
  return static_cast<std::size_t>(top) >= k_keys_of_a_dump &&
         (table == nullptr || table->repeats.empty());
}

std::optional<std::string> small_text(const std::string& path) {
  std::error_code no_throw;
  if (!std::filesystem::is_regular_file(path, no_throw)) return std::nullopt;
  if (std::filesystem::file_size(path, no_throw) > k_most_bytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Whether the file lies in the folder of a run that does not lead.
bool of_another_run(const Report& report, const std::string& path) {
  const auto lies_in = [&path](const std::string& folder) {
    return !folder.empty() && path.size() > folder.size() && path.starts_with(folder) &&
           (folder.back() == '/' || path[folder.size()] == '/');
  };
  if (report.runs.size() < 2 || lies_in(report.runs.front().name)) return false;
  return std::any_of(report.runs.begin() + 1, report.runs.end(),
                     [&](const ReportRun& run) { return lies_in(run.name) || run.name == path; });
}

std::vector<Candidate> candidates(const Report& report) {
  std::vector<Candidate> found;
  for (const ReportInput& input : report.inputs) {
    const bool holds_settings =
        input.kind.starts_with("config-") || one_of(input.kind, {"python-config", "settings-text"});
    if (!holds_settings || describes_a_model(config_text::file_name(input.path))) continue;
    if (of_another_run(report, input.path)) continue;
    auto text = small_text(input.path);
    if (!text) continue;
    ConfigFile file = read_config_file(*std::move(text), input.path);
    const bool by_program = written_by_program(file);
    std::string framework = file.framework;
    // Notes and lists of packages are text as well; without keys that tell, only a command line is
    // a configuration.
    if (framework.empty() && input.kind == "settings-text" && file.syntax != ConfigSyntax::command)
      continue;
    if (framework.empty()) framework = report::summary_text(report, "framework");
    found.push_back({std::move(file), std::move(framework), by_program});
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Candidate& one) { return !one.by_program; });
  return found;
}

/// How well a file can take one setting; the greater the better.
enum class Fit { none, part_auto, part_added, own_auto, own_added, states };

/// `auto`, `null`: the key stands there and leaves the value to something else.
bool leaves_open(const FixChange& change) {
  return one_of(change.before, {"auto", "null", "None", "none", "~", ""});
}

Fit fit_of(const Candidate& candidate, const knowledge::SettingValue& setting,
           const knowledge::Versions& versions) {
  const auto fixed = fix_config(candidate.file, candidate.framework, {setting}, versions);
  if (!fixed || !fixed->left_out.empty()) return Fit::none;
  const knowledge::Framework* table = knowledge::find_framework(fixed->framework);
  // A launcher's file, or one that repeats what a trainer is told, stands beside the trainer's own.
  const bool part = table != nullptr && (table->part || !table->repeats.empty());
  const auto in_place = std::find_if(fixed->changes.begin(), fixed->changes.end(),
                                     [](const FixChange& change) { return !change.added(); });
  if (fixed->changes.empty()) return Fit::states;
  if (in_place == fixed->changes.end()) return part ? Fit::part_added : Fit::own_added;
  if (!leaves_open(*in_place)) return Fit::states;
  return part ? Fit::part_auto : Fit::own_auto;
}

/// The settings that go into each of the files, and those that none can hold.
struct Shares {
  std::vector<Settings> of_file;
  Settings left_out;
};

Shares share_out(const std::vector<Candidate>& files, const Settings& settings,
                 const knowledge::Versions& versions) {
  Shares shares;
  shares.of_file.resize(files.size());
  for (const knowledge::SettingValue& setting : settings) {
    std::vector<Fit> fits;
    fits.reserve(files.size());
    for (const Candidate& file : files) fits.push_back(fit_of(file, setting, versions));
    const auto best = std::max_element(fits.begin(), fits.end());
    if (best == fits.end() || *best == Fit::none) {
      shares.left_out.push_back(setting);
      continue;
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      const bool takes = *best == Fit::states ? fits[i] == Fit::states : &fits[i] == &*best;
      if (takes) shares.of_file[i].push_back(setting);
    }
  }
  return shares;
}

RunFix fix_files(const std::vector<Candidate>& files, const Settings& settings,
                 const knowledge::Versions& versions) {
  const Shares shares = share_out(files, settings, versions);
  RunFix fix;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (shares.of_file[i].empty()) continue;
    auto fixed = fix_config(files[i].file, files[i].framework, shares.of_file[i], versions);
    if (!fixed || fixed->changes.empty()) continue;
    const ConfigFile& file = files[i].file;
    fix.files.push_back({file.path, file.text, *std::move(fixed), files[i].by_program});
  }
  for (const auto& [name, value] : shares.left_out) fix.left_out.push_back(name);
  if (!fix.files.empty())
    fix.elsewhere = knowledge::render_settings(fix.files.front().fixed.framework, shares.left_out,
                                               {}, versions);
  return fix;
}

/// `env.transformers` and its like.
knowledge::Versions versions_of(const Report& report) {
  knowledge::Versions versions;
  for (const auto& [name, value] : report.settings) {
    const auto* version = std::get_if<std::string>(&value);
    if (name.starts_with("env.") && version != nullptr) versions[name.substr(4)] = *version;
  }
  return versions;
}

std::string by_hand(const ReportRemedy& remedy) {
  const auto rendered = std::find_if(remedy.rendered.begin(), remedy.rendered.end(),
                                     [](const auto& each) { return each.first != "generic"; });
  if (rendered != remedy.rendered.end()) return rendered->second;
  const auto generic = remedy.rendered.find("generic");
  return generic == remedy.rendered.end() ? std::string() : generic->second;
}

std::string listed(const std::vector<Candidate>& files) {
  std::string names;
  for (const Candidate& one : files) names += (names.empty() ? "" : ", ") + one.file.path;
  return names;
}

bool same_text(const std::string& path, const std::string& text) {
  const auto there = small_text(path);
  return there && *there == text;
}

}  // namespace

namespace {

bool mends(const ReportCause& cause, const ReportRemedy& remedy) {
  return std::any_of(cause.remedies.begin(), cause.remedies.end(),
                     [&](const ReportRemedy& other) { return other.set == remedy.set; });
}

/// The remedies that are settings: of two causes that are put forward, those of both first.
std::vector<const ReportRemedy*> settable(const Report& report) {
  std::vector<const ReportRemedy*> remedies;
  if (!report::is_answered(report)) return remedies;
  for (const ReportRemedy& remedy : report.causes.front().remedies) {
    if (!remedy.set.empty()) remedies.push_back(&remedy);
  }
  if (report::is_either(report)) {
    std::stable_partition(remedies.begin(), remedies.end(), [&](const ReportRemedy* remedy) {
      return mends(report.causes[1], *remedy);
    });
  }
  return remedies;
}

/// What a remedy of one of two causes leaves open.
std::string doubt_of(const Report& report, const ReportRemedy& remedy) {
  if (!report::is_either(report) || mends(report.causes[1], remedy)) return {};
  std::string text = fmt::format("it mends one of two causes: \"{}\" ({}), not \"{}\" ({})",
                                 report::cause_title(report, report.causes[0]),
                                 report::show_percent(report.causes[0].probability),
                                 report::cause_title(report, report.causes[1]),
                                 report::show_percent(report.causes[1].probability));
  const ReportExperiment* telling = report::telling_experiment(report);
  return telling == nullptr ? text : text + "; to tell them apart: " + telling->text;
}

}  // namespace

core::Result<RunFix> plan_fix(const Report& report) {
  const std::vector<const ReportRemedy*> remedies = settable(report);
  if (remedies.empty()) {
    return core::fail(core::ErrorCode::unsupported,
                      "[fix] no remedy here is a change of settings: nothing was written");
  }
  const std::vector<Candidate> files = candidates(report);
  const knowledge::Versions versions = versions_of(report);
  const auto dumps = std::find_if(files.begin(), files.end(),
                                  [](const Candidate& file) { return file.by_program; });
  for (const auto& group :
       {std::vector<Candidate>(files.begin(), dumps), std::vector<Candidate>(dumps, files.end())}) {
    for (const ReportRemedy* remedy : remedies) {
      RunFix fix = fix_files(group, {remedy->set.begin(), remedy->set.end()}, versions);
      if (fix.files.empty()) continue;
      fix.remedy = remedy->text;
      fix.doubt = doubt_of(report, *remedy);
      return fix;
    }
  }
  const std::string hand = by_hand(*remedies.front());
  if (files.empty()) {
    return core::fail(
        core::ErrorCode::unsupported,
        "[fix] no configuration among the inputs: give the YAML, JSON, TOML, shell or "
        "Python file that starts the run as a further PATH, or change it there by hand:\n" +
            hand);
  }
  return core::fail(
      core::ErrorCode::unsupported,
      "[fix] " + listed(files) +
          ": no place for the remedy, or it is said already; change it where the run's "
          "code does:\n" +
          hand);
}

core::Result<std::vector<std::string>> places_of(const RunFix& fix, const Report& report,
                                                 const std::string& out) {
  namespace fs = std::filesystem;
  std::error_code no_throw;
  const bool several = fix.files.size() > 1;
  const bool folder = fs::is_directory(out, no_throw) || out.ends_with('/') ||
                      (several && !fs::exists(out, no_throw) && !fs::path(out).has_extension());
  if (several && !folder) {
    std::string names;
    for (const FileFix& file : fix.files) names += (names.empty() ? "" : ", ") + file.path;
    return core::fail(core::ErrorCode::bad_usage, "[fix] " + names +
                                                      " need a change: name a folder for them, " +
                                                      fs::path(out).stem().string() + "/");
  }
  std::vector<std::string> places;
  std::set<std::string> names;
  for (const FileFix& file : fix.files) {
    std::string name(config_text::file_name(file.path));
    for (int i = 2; !names.insert(name).second; ++i)
      name = std::to_string(i) + "-" + std::string(config_text::file_name(file.path));
    places.push_back(folder ? (fs::path(out) / name).string() : out);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const ReportInput& input : report.inputs) {
      if (fs::equivalent(input.path, places[i], no_throw))
        return core::fail(
            core::ErrorCode::bad_usage,
            "[fix] " + places[i] +
                " is one of the inputs, and those are never written to: name a new file");
    }
    // A pipe or a device is written to as it is.
    if (fs::is_regular_file(places[i], no_throw) && !same_text(places[i], fix.files[i].fixed.text))
      return core::fail(
          core::ErrorCode::bad_usage,
          "[fix] " + places[i] + " exists and says something else: remove it, or name a new file");
  }
  return places;
}

}  // namespace aplomb::fix

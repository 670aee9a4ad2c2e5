// explain_topic(): one function a kind of topic.

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/weight_checks.h"
#include "cli/topics.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "core/value.h"
#include "detection/bank.h"
#include "detectors/detector.h"
#include "diagnosis/cause_book.h"
#include "guard/policy.h"
#include "knowledge/code_book.h"
#include "knowledge/framework.h"
#include "knowledge/setting.h"
#include "log_errors/signature_table.h"
#include "preflight/rule_book.h"
#include "sources/reader.h"

namespace aplomb::cli {
namespace {

using Parts = std::vector<TopicPart>;

void add(Parts& parts, std::string heading, std::string text, std::vector<std::string> items = {}) {
  if (!text.empty() || !items.empty()) {
    parts.push_back({std::move(heading), std::move(text), std::move(items)});
  }
}

Parts explain_reader(std::string_view slug) {
  Parts parts;
  for (const auto& reader : sources::readers()) {
    const sources::ReaderSpec& spec = reader->spec();
    if (spec.slug != slug) continue;
    add(parts, "Reads", spec.summary);
    add(parts, "Example", spec.example);
    add(parts, "Survives", "", spec.oddities);
  }
  return parts;
}

std::string shown(const detectors::Parameter& parameter) {
  std::string text = fmt::format("{} = {}", parameter.name, core::show_number(parameter.value));
  if (!parameter.unit.empty()) text += " " + parameter.unit;
  if (parameter.least < parameter.most) {
    text += fmt::format(" ({} to {})", core::show_number(parameter.least),
                        core::show_number(parameter.most));
  }
  return parameter.source.empty() ? text : text + ": " + parameter.source;
}

Parts explain_detector(std::string_view slug) {
  Parts parts;
  for (const auto& detector : detection::make_detectors()) {
    const detectors::DetectorSpec& spec = detector->spec();
    if (spec.slug != slug) continue;
    std::vector<std::string> inputs;
    std::vector<std::string> parameters;
    for (const record::Role role : spec.inputs) inputs.emplace_back(name(role));
    for (const detectors::Parameter& each : spec.parameters) parameters.push_back(shown(each));
    add(parts, "Finds", spec.summary);
    add(parts, "Why that is bad", spec.why_bad);
    add(parts, "Example", spec.example);
    add(parts, "Looks at", fmt::format("{}", fmt::join(inputs, ", ")));
    add(parts, "Reports", fmt::format("{}", fmt::join(spec.symptoms, ", ")));
    add(parts, "Parameters", "", parameters);
    add(parts, "References", "", spec.references);
  }
  return parts;
}

Parts explain_policy(std::string_view slug) {
  Parts parts;
  for (const guard::PolicySpec& spec : guard::policy_specs()) {
    if (spec.slug != slug) continue;
    add(parts, "Does", std::string(spec.summary));
    add(parts, "After", std::string(spec.source));
  }
  return parts;
}

Parts explain_checkpoint_symptom(std::string_view slug) {
  Parts parts;
  std::vector<std::string> causes;
  for (const checkpoint::CheckpointSymptom& each : checkpoint::checkpoint_symptoms()) {
    if (each.id != slug) continue;
    add(parts, "Finds", std::string(each.summary));
    add(parts, "Why that is bad", std::string(each.why_bad));
    add(parts, "Known from", std::string(each.source));
  }
  for (const diagnosis::Cause& cause : diagnosis::cause_book().causes) {
    const auto& all = cause.explains;
    if (std::find(all.begin(), all.end(), slug) != all.end()) {
      causes.push_back(cause.id + "  " + cause.title);
    }
  }
  add(parts, "Points to", "", causes);
  add(parts, "Shown by", "aplomb ckpt scan, diff, precision or resume, and aplomb diagnose");
  return parts;
}

std::string shown(const diagnosis::Remedy& remedy) {
  std::vector<std::string> changes;
  for (const auto& [setting, value] : remedy.set)
    changes.push_back(setting + ": " + core::show(value));
  if (changes.empty()) return remedy.text;
  const std::string all = fmt::format("{}", fmt::join(changes, ", "));
  return remedy.text.empty() ? all : remedy.text + " (" + all + ")";
}

Parts explain_cause(std::string_view slug) {
  Parts parts;
  const diagnosis::Cause* cause = diagnosis::cause_book().find(slug);
  if (cause == nullptr) return parts;
  std::vector<std::string> evidence;
  std::vector<std::string> remedies;
  std::vector<std::string> tests;
  for (const diagnosis::EvidenceRule& rule : cause->evidence) {
    evidence.push_back(fmt::format("{:+.1f}  {}", rule.weight, rule.when.text()));
  }
  std::vector<std::string> refutations;
  for (const diagnosis::Refutation& each : cause->refuted_by)
    refutations.push_back(each.when.text() + (each.because.empty() ? "" : ": " + each.because));
  for (const diagnosis::RemedyRule& rule : cause->remedies) remedies.push_back(shown(rule.remedy));
  for (const diagnosis::PricedExperiment& each : cause->experiments) {
    tests.push_back(each.experiment.text + " " + each.experiment.reads);
  }
  add(parts, "What it is", cause->title);
  std::string because;
  for (const diagnosis::Sentence& each : cause->because)
    because += (because.empty() ? "" : " ") + each.text;
  add(parts, "Why it happens", because);
  add(parts, "Explains", fmt::format("{}", fmt::join(cause->explains, ", ")));
  add(parts, "What to change", "", remedies);
  add(parts, "It worked when", cause->verify);
  add(parts, "To tell it from others", "", tests);
  add(parts, "Evidence, in nats", "", evidence);
  add(parts, "Ruled out where", "", refutations);
  add(parts, "References", "", cause->references);
  return parts;
}

Parts explain_check(std::string_view slug) {
  Parts parts;
  for (const preflight::CheckRule& rule : preflight::rule_book().rules) {
    if (rule.id != slug) continue;
    std::vector<std::string> remedies;
    std::vector<std::string> versions;
    for (const diagnosis::RemedyRule& each : rule.remedies) remedies.push_back(shown(each.remedy));
    for (const preflight::VersionRange& range : rule.versions) {
      std::string text = range.package;
      for (const auto& [relation, version] : range.bounds) text += " " + relation + " " + version;
      versions.push_back(std::move(text));
    }
    add(parts, "Finds", rule.title);
    add(parts, "Why that is bad", rule.because);
    add(parts, "How bad", std::string(name(rule.severity)));
    add(parts, "Said when", rule.when.front().text());
    add(parts, "With versions", "", versions);
    add(parts, "What to change", "", remedies);
    add(parts, "Leads to", "", rule.leads_to);
    add(parts, "References", "", rule.references);
  }
  return parts;
}

Parts explain_code(std::string_view slug) {
  Parts parts;
  const knowledge::CodeEntry* entry = knowledge::code_book().find(slug);
  if (entry == nullptr) return parts;
  std::vector<std::string> causes;
  for (const std::string& id : entry->leads_to) {
    const diagnosis::Cause* cause = diagnosis::cause_book().find(id);
    if (cause != nullptr) causes.push_back(id + "  " + cause->title);
  }
  add(parts, "Finds", entry->title);
  add(parts, "Why that is bad", knowledge::filled_in(entry->because, {}));
  add(parts, "How bad",
      fmt::format("{}{}", name(entry->severity),
                  entry->is_mistake ? ", whatever the curves say" : ", if it is so"));
  add(parts, "What to write instead", entry->fix);
  add(parts, "Leads to", "", causes);
  add(parts, "Seen in",
      entry->only_fragment      ? "fragments of Python, by patterns"
      : entry->patterns.empty() ? "whole programs, parsed by Python"
                                : "whole programs, parsed by Python, and fragments, by patterns");
  return parts;
}

Parts explain_framework(std::string_view slug) {
  Parts parts;
  const knowledge::Framework* framework = knowledge::find_framework(slug);
  if (framework == nullptr) return parts;
  std::vector<std::string> series;
  std::vector<std::string> settings;
  for (const auto& each : framework->series) series.push_back(each.key + " -> " + each.series);
  for (const auto& each : framework->settings) {
    const std::string line = each.key + " -> " + each.setting;
    if (settings.empty() || settings.back() != line) settings.push_back(line);
  }
  add(parts, "Framework", framework->name);
  add(parts, "Configured in", framework->syntax);
  add(parts, "States the step as", fmt::format("{}", fmt::join(framework->step_keys, ", ")));
  add(parts, "Metrics", "", series);
  add(parts, "Settings", "", settings);
  return parts;
}

std::string_view shown(knowledge::SettingType type) {
  using knowledge::SettingType;
  static constexpr std::pair<SettingType, std::string_view> k_names[] = {
      {SettingType::truth, "true or false"},
      {SettingType::number, "a number"},
      {SettingType::count, "a whole number"},
      {SettingType::bytes, "a size in bytes"},
      {SettingType::seconds, "a duration in seconds"},
      {SettingType::word, "a word"},
      {SettingType::version, "a version"},
      {SettingType::text, "text"},
      {SettingType::texts, "a list"}};
  return core::second_of(k_names, type).value_or("text");
}

Parts explain_setting(std::string_view slug) {
  Parts parts;
  const knowledge::SettingSpec* spec = knowledge::find_setting_spec(slug);
  if (spec == nullptr) return parts;
  std::vector<std::string> words;
  for (const auto& [spelling, word] : spec->words) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::string type(shown(spec->type));
  if (!spec->unit.empty()) type += ", in " + spec->unit;
  if (!words.empty()) type += fmt::format(": {}", fmt::join(words, ", "));
  std::vector<std::string> keys;
  for (const knowledge::Framework& framework : knowledge::frameworks()) {
    for (const knowledge::SettingKey& key : framework.settings) {
      const std::string line = framework.name + ": " + key.key;
      const bool held = std::find(keys.begin(), keys.end(), line) != keys.end();
      if (key.setting == slug && !held) keys.push_back(line);
    }
  }
  add(parts, "Means", spec->meaning);
  add(parts, "Holds", type);
  add(parts, "Written as", "", keys);
  return parts;
}

Parts explain_error(std::string_view slug) {
  Parts parts;
  const log_errors::Signature* signature = log_errors::SignatureTable::instance().find(slug);
  if (signature == nullptr) return parts;
  std::vector<std::string> causes;
  const std::string fact = "error." + std::string(slug);
  for (const diagnosis::Cause& cause : diagnosis::cause_book().causes) {
    bool uses =
        std::find(cause.explains.begin(), cause.explains.end(), fact) != cause.explains.end();
    for (const diagnosis::EvidenceRule& rule : cause.evidence) {
      const std::vector<std::string> asked = rule.when.names();
      uses =
          uses || (rule.weight > 0 && std::find(asked.begin(), asked.end(), fact) != asked.end());
    }
    if (uses) causes.push_back(cause.id + "  " + cause.title);
  }
  add(parts, "Means", signature->title);
  add(parts, "How bad", std::string(name(signature->severity)));
  add(parts, "Recognised by", "", signature->literals);
  add(parts, "Points to", "", causes);
  return parts;
}

}  // namespace

std::vector<TopicPart> explain_topic(const Topic& topic) {
  if (topic.kind == "readers") return explain_reader(topic.slug);
  if (topic.kind == "detectors") return explain_detector(topic.slug);
  if (topic.kind == "checkpoints") return explain_checkpoint_symptom(topic.slug);
  if (topic.kind == "policies") return explain_policy(topic.slug);
  if (topic.kind == "causes") return explain_cause(topic.slug);
  if (topic.kind == "checks") return explain_check(topic.slug);
  if (topic.kind == "code") return explain_code(topic.slug);
  if (topic.kind == "frameworks") return explain_framework(topic.slug);
  if (topic.kind == "settings") return explain_setting(topic.slug);
  return explain_error(topic.slug);
}

}  // namespace aplomb::cli

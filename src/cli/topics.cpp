#include "cli/topics.h"

#include <algorithm>

#include "checkpoint/weight_checks.h"
#include "core/edit_distance.h"
#include "core/text.h"
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

void add_readers(std::vector<Topic>& out) {
  for (const auto& reader : sources::readers()) {
    out.push_back({"readers", reader->spec().slug, reader->spec().summary, {}});
  }
}

void add_detectors(std::vector<Topic>& out) {
  for (const auto& detector : detection::make_detectors()) {
    const detectors::DetectorSpec& spec = detector->spec();
    out.push_back({"detectors", spec.slug, spec.summary, spec.symptoms});
  }
}

void add_checkpoint_symptoms(std::vector<Topic>& out) {
  for (const checkpoint::CheckpointSymptom& each : checkpoint::checkpoint_symptoms()) {
    out.push_back({"checkpoints", std::string(each.id), std::string(each.summary), {}});
  }
}

void add_policies(std::vector<Topic>& out) {
  for (const guard::PolicySpec& spec : guard::policy_specs())
    out.push_back({"policies", std::string(spec.slug), std::string(spec.summary), {}});
}

void add_causes(std::vector<Topic>& out) {
  for (const diagnosis::Cause& cause : diagnosis::cause_book().causes) {
    out.push_back({"causes", cause.id, cause.title, {}});
  }
}

void add_checks(std::vector<Topic>& out) {
  for (const preflight::CheckRule& rule : preflight::rule_book().rules)
    out.push_back({"checks", rule.id, rule.title, {}});
}

void add_code(std::vector<Topic>& out) {
  for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
    if (!entry.is_sign) out.push_back({"code", entry.id, entry.title, {}});
  }
}

void add_frameworks(std::vector<Topic>& out) {
  for (const knowledge::Framework& each : knowledge::frameworks()) {
    out.push_back({"frameworks", each.slug, each.name, {}});
  }
}

void add_settings(std::vector<Topic>& out) {
  for (const knowledge::SettingSpec& spec : knowledge::setting_specs()) {
    out.push_back({"settings", spec.name, spec.meaning, {}});
  }
}

void add_errors(std::vector<Topic>& out) {
  for (const auto& signature : log_errors::SignatureTable::instance().all()) {
    if (signature->role == log_errors::SignatureRole::frame) continue;
    out.push_back({"errors", signature->kind, signature->title, {"error." + signature->kind}});
  }
}

bool names(const Topic& topic, std::string_view word) {
  return core::iequals(topic.slug, word) ||
         std::any_of(topic.also.begin(), topic.also.end(),
                     [word](const std::string& other) { return core::iequals(other, word); });
}

std::string_view last_part(std::string_view slug) {
  const std::size_t dot = slug.rfind('.');
  return dot == std::string_view::npos ? slug : slug.substr(dot + 1);
}

}  // namespace

const std::vector<TopicKind>& topic_kinds() {
  static const std::vector<TopicKind> kinds = {
      {"readers", "reader", "what can be read"},
      {"detectors", "detector", "what is looked for in the metrics"},
      {"checkpoints", "checkpoint symptom", "what is looked for in weights and their files"},
      {"policies", "policy", "what the guard of a running training answers to"},
      {"causes", "cause", "what may have gone wrong, with remedies"},
      {"checks", "check", "what is looked for in a configuration before it runs"},
      {"code", "finding", "what is looked for in Python programs and fragments of them"},
      {"frameworks", "framework", "whose log fields and configuration keys are known"},
      {"settings", "setting", "configuration values, by the one name that remedies use"},
      {"errors", "error", "messages that are recognised in logs"}};
  return kinds;
}

std::vector<Topic> topics(std::string_view kind) {
  std::vector<Topic> out;
  const auto wanted = [kind](std::string_view each) { return kind.empty() || kind == each; };
  if (wanted("readers")) add_readers(out);
  if (wanted("detectors")) add_detectors(out);
  if (wanted("checkpoints")) add_checkpoint_symptoms(out);
  if (wanted("policies")) add_policies(out);
  if (wanted("causes")) add_causes(out);
  if (wanted("checks")) add_checks(out);
  if (wanted("code")) add_code(out);
  if (wanted("frameworks")) add_frameworks(out);
  if (wanted("settings")) add_settings(out);
  if (wanted("errors")) add_errors(out);
  return out;
}

std::vector<Topic> find_topics(std::string_view word) {
  std::vector<Topic> exact;
  std::vector<Topic> by_end;
  for (Topic& topic : topics()) {
    if (names(topic, word)) {
      exact.push_back(std::move(topic));
    } else if (core::iequals(last_part(topic.slug), word) && topic.kind != "settings") {
      by_end.push_back(std::move(topic));
    }
  }
  return exact.empty() ? by_end : exact;
}

std::vector<std::string> near_names(std::string_view word, std::size_t most) {
  struct Near {
    std::size_t distance;
    std::string name;
  };
  const std::string wanted = core::lower(word);
  std::vector<Near> near;
  const auto consider = [&](const std::string& name) {
    const std::size_t whole = core::edit_distance(wanted, core::lower(name));
    const std::size_t part = core::edit_distance(wanted, core::lower(last_part(name)));
    std::size_t distance = std::min(whole, part);
    // A word that stands inside a name is near to it however long the name is.
    if (wanted.size() >= 3 && core::icontains(name, wanted))
      distance = std::min<std::size_t>(distance, 1);
    if (distance <= std::max<std::size_t>(2, wanted.size() / 3)) near.push_back({distance, name});
  };
  for (const Topic& topic : topics()) {
    consider(topic.slug);
    if (topic.kind == "detectors") std::for_each(topic.also.begin(), topic.also.end(), consider);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  std::vector<std::string> names;
  for (const Near& each : near) {
    const bool held = std::find(names.begin(), names.end(), each.name) != names.end();
    if (!held && names.size() < most) names.push_back(each.name);
  }
  return names;
}

}  // namespace aplomb::cli

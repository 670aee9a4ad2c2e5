#include "diagnosis/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diagnosis/condition.h"
#include "diagnosis/weigh.h"
#include "knowledge/code_book.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

struct HealthRule {
  Condition when;
  std::string because;  ///< empty: the words of the facts
};

struct Explanation {
  HealthRule rule;
  std::vector<std::string> symptoms;
};

struct HealthBook {
  std::vector<HealthRule> shows, against, missing;
  std::vector<Explanation> explained;
  std::vector<std::string> mistakes;
};

std::vector<HealthRule> read_rules(const knowledge::Node& file, std::string_view key,
                                   std::vector<std::string>& mistakes) {
  std::vector<HealthRule> rules;
  for (const knowledge::Node& entry : knowledge::list_of(file, key)) {
    core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    if (when) {
      rules.push_back({std::move(*when), knowledge::text_of(entry, "because")});
    } else {
      mistakes.push_back(fmt::format("health.yaml, {}: {}", key, when.error().text));
    }
  }
  if (rules.empty()) mistakes.push_back(fmt::format("health.yaml holds no rule of {}", key));
  return rules;
}

std::vector<Explanation> read_explanations(const knowledge::Node& file,
                                           std::vector<std::string>& mistakes) {
  std::vector<Explanation> all;
  for (const knowledge::Node& entry : knowledge::list_of(file, "explained")) {
    core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    if (when) {
      all.push_back({{std::move(*when), knowledge::text_of(entry, "because")},
                     knowledge::texts_of(entry, "symptoms")});
    } else {
      mistakes.push_back(fmt::format("health.yaml, explained: {}", when.error().text));
    }
  }
  return all;
}

const HealthBook& book() {
  static const HealthBook the_book = [] {
    const knowledge::Node file = knowledge::file("health.yaml");
    HealthBook read;
    read.shows = read_rules(file, "shows", read.mistakes);
    read.against = read_rules(file, "against", read.mistakes);
    read.missing = read_rules(file, "missing", read.mistakes);
    read.explained = read_explanations(file, read.mistakes);
    return read;
  }();
  return the_book;
}

std::vector<HealthFinding> holding(const std::vector<HealthRule>& rules, const FactTable& facts) {
  std::vector<HealthFinding> found;
  for (const HealthRule& rule : rules) {
    if (rule.when.holds(facts) != Truth::yes) continue;
    HealthFinding finding{fill_in(rule.because, facts), {}};
    for (const record::Fact* fact : rule.when.support(facts)) {
      if (finding.because.empty()) finding.because = fact->because;
      finding.evidence.insert(finding.evidence.end(), fact->evidence.begin(), fact->evidence.end());
    }
    constexpr std::size_t k_most_places = 4;
    if (finding.evidence.size() > k_most_places) finding.evidence.resize(k_most_places);
    found.push_back(std::move(finding));
  }
  return found;
}

/// Mistakes of the program that harm whatever the curves say (knowledge/code: from `unstable` on).
void add_mistakes(const FactTable& facts, std::vector<HealthFinding>& against) {
  for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
    if (!entry.is_mistake || entry.severity < core::Severity::unstable) continue;
    const record::Fact* fact = facts.find(knowledge::mistake_fact(entry.id));
    if (fact == nullptr || !core::is_true(fact->value)) continue;
    against.push_back({"a mistake in the program (" + entry.title + ")", fact->evidence});
  }
}

}  // namespace

HealthEvidence judge_health(const FactTable& facts) {
  HealthEvidence health;
  health.shown = holding(book().shows, facts);
  health.against = holding(book().against, facts);
  add_mistakes(facts, health.against);
  if (health.shown.empty()) health.missing = holding(book().missing, facts);
  return health;
}

void lower_explained(const FactTable& facts, std::vector<detectors::Symptom>& symptoms) {
  for (const Explanation& each : book().explained) {
    if (each.rule.when.holds(facts) != Truth::yes) continue;
    for (detectors::Symptom& symptom : symptoms) {
      const bool meant =
          std::find(each.symptoms.begin(), each.symptoms.end(), symptom.id) != each.symptoms.end();
      if (!meant || symptom.severity == core::Severity::note) continue;
      symptom.severity = core::Severity::note;
      symptom.summary += " (" + each.rule.because + ")";
    }
  }
}

const std::vector<std::string>& health_mistakes() { return book().mistakes; }

std::vector<std::string> health_facts() {
  std::vector<std::string> names;
  for (const auto* rules : {&book().shows, &book().against, &book().missing}) {
    for (const HealthRule& rule : *rules) {
      for (std::string& name : rule.when.names()) names.push_back(std::move(name));
    }
  }
  for (const Explanation& each : book().explained) {
    for (std::string& name : each.rule.when.names()) names.push_back(std::move(name));
    names.insert(names.end(), each.symptoms.begin(), each.symptoms.end());
  }
  return names;
}

}  // namespace aplomb::diagnosis

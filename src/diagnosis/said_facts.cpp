#include "diagnosis/said_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "diagnosis/condition.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

struct SaidRule {
  std::string fact;
  Condition when;
  core::Severity severity = core::Severity::note;
};

std::vector<SaidRule> read_rules() {
  std::vector<SaidRule> rules;
  for (const knowledge::Node& entry : knowledge::file("claims/symptoms.yaml").items()) {
    core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    if (!when) continue;  // the tests of the knowledge hold this empty
    SaidRule rule{knowledge::text_of(entry, "fact"), std::move(*when), core::Severity::note};
    const std::string severity = knowledge::text_of(entry, "severity");
    for (const core::Severity each :
         {core::Severity::warning, core::Severity::unstable, core::Severity::failed}) {
      if (severity == name(each)) rule.severity = each;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

const std::vector<SaidRule>& rules() {
  static const std::vector<SaidRule> the_rules = read_rules();
  return the_rules;
}

/// Stands beside a symptom that was taken from words.
constexpr std::string_view k_said_as = "said.as.";

struct NormalRule {
  Condition when;
  bool strong = false;
  std::string because;
};

std::vector<NormalRule> read_normal_rules() {
  std::vector<NormalRule> rules;
  for (const knowledge::Node& entry : knowledge::file("claims/normal.yaml").items()) {
    core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    if (when)
      rules.push_back({std::move(*when), knowledge::truth_of(entry, "strong"),
                       knowledge::text_of(entry, "because")});
  }
  return rules;
}

}  // namespace

std::optional<std::string> why_normal(const FactTable& facts, bool suspected) {
  static const std::vector<NormalRule> the_rules = read_normal_rules();
  for (const NormalRule& rule : the_rules) {
    if (suspected && !rule.strong) continue;
    if (rule.when.holds(facts) == Truth::yes) return rule.because;
  }
  return std::nullopt;
}

namespace {

/// Some sentence says what something does or how large it is: a question has a subject.
bool says_something(const FactTable& facts) {
  constexpr std::string_view k_head = "said.";
  constexpr std::string_view k_topic = "said.about.";
  constexpr std::string_view k_question = "said.asks";
  const std::vector<record::Fact>& all = facts.all();
  return std::any_of(all.begin(), all.end(), [&](const record::Fact& fact) {
    return fact.name.starts_with(k_head) && !fact.name.starts_with(k_topic) &&
           !fact.name.starts_with(k_question);
  });
}

}  // namespace

void add_said_facts(FactTable& facts) {
  if (says_something(facts))
    facts.set({"said.something", true, "a sentence says how something is", {}});
  for (const SaidRule& rule : rules()) {
    const bool holds = rule.when.holds(facts) == Truth::yes;
    const record::Fact* known = facts.find(rule.fact);
    const bool is_known = known != nullptr;
    const bool there = holds || (is_known && core::is_true(known->value));
    // The rules that ask for it stand behind all others.
    if (there && rule.severity >= core::Severity::warning)
      facts.set({"said.trouble", true, "something is told that is out of order", {}});
    if (is_known || !holds) continue;
    record::Fact fact{rule.fact, true, {}, {}};
    bool by_words = false;
    for (const record::Fact* support : rule.when.support(facts)) {
      if (fact.because.empty()) fact.because = support->because;
      by_words = by_words || support->name.starts_with("said.");
      for (const record::Origin& origin : support->evidence) {
        if (fact.evidence.size() < 4) fact.evidence.push_back(origin);
      }
    }
    if (by_words)
      facts.set({std::string(k_said_as) + rule.fact, true, fact.because, fact.evidence});
    facts.set(std::move(fact));
  }
}

bool is_said(const FactTable& facts, std::string_view name) {
  if (name.starts_with("said.") || name.starts_with("words.") || name.starts_with("text."))
    return true;
  if (name.starts_with("error.") && name.ends_with("-said")) return true;
  return facts.find(std::string(k_said_as).append(name)) != nullptr;
}

void add_said_severities(const FactTable& facts, SeverityOf& severities) {
  for (const SaidRule& rule : rules()) {
    if (facts.find(std::string(k_said_as) + rule.fact) == nullptr) continue;
    core::Severity& held = severities.try_emplace(rule.fact, rule.severity).first->second;
    held = std::max(held, rule.severity);
  }
}

}  // namespace aplomb::diagnosis

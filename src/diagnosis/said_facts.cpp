#include "diagnosis/said_facts.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/condition.h"
#include "diagnosis/derivers.h"
#include "diagnosis/rule_facts.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

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
void derive_something(FactView& view) {
  constexpr std::string_view k_topic = "said.about.";
  constexpr std::string_view k_question = "said.asks";
  const facts::Listener listener = view.listener();
  const auto said = view.given_by_readers("said.*");
  if (std::any_of(said.begin(), said.end(), [&](const record::Fact* fact) {
        return listener.hears(*fact) && !fact->name.starts_with(k_topic) &&
               !fact->name.starts_with(k_question);
      }))
    view.set("said.something", true, "a sentence says how something is");
}

/// The rules that are more than a note: what they name, seen or said, is out of order.
struct Troubles {
  std::vector<const SaidRule*> rules;
  std::vector<std::string> names;  ///< their facts, and what their conditions ask for
};

const Troubles& troubles() {
  static const Troubles the_troubles = [] {
    Troubles all;
    for (const SaidRule& rule : rules()) {
      if (rule.severity < core::Severity::warning) continue;
      all.rules.push_back(&rule);
      all.names.push_back(rule.fact);
      for (std::string& name : rule.when.names()) all.names.push_back(std::move(name));
    }
    return all;
  }();
  return the_troubles;
}

/// What is told counts even where a measurement says otherwise.
void derive_trouble(FactView& view) {
  const FactTable& table = view.table(troubles().names);
  const auto is_there = [&](const SaidRule* rule) {
    const record::Fact* fact = table.find(rule->fact);
    return (fact != nullptr && core::is_true(fact->value)) || rule->when.holds(table) == Truth::yes;
  };
  if (std::any_of(troubles().rules.begin(), troubles().rules.end(), is_there))
    view.set("said.trouble", true, "something is told that is out of order");
}

bool stands_on_words(const Condition& when, const FactTable& table) {
  const std::vector<const record::Fact*> supports = when.support(table);
  return std::any_of(supports.begin(), supports.end(), [](const record::Fact* support) {
    return support->name.starts_with("said.");
  });
}

/// One deriver for each fact, whose rules stand in the order of the file: the first that holds
/// gives it. What was measured, or stands in the artifacts, is not said once more.
std::vector<facts::Deriver> fact_by_fact() {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const SaidRule*>> by_fact;
  for (const SaidRule& rule : rules()) {
    std::vector<const SaidRule*>& of_fact = by_fact[rule.fact];
    if (of_fact.empty()) order.push_back(rule.fact);
    of_fact.push_back(&rule);
  }
  std::vector<facts::Deriver> derivers;
  for (const std::string& fact : order) {
    std::vector<std::string> names;
    for (const SaidRule* rule : by_fact[fact]) {
      for (std::string& name : rule->when.names()) names.push_back(std::move(name));
    }
    const std::string as_said = std::string(k_said_as) + fact;
    derivers.push_back({.name = "said: " + fact,
                        .reads = names,
                        .gives = {as_said},
                        .fills = {fact},
                        .derive = [fact, as_said, names, of_fact = by_fact[fact]](FactView& view) {
                          if (view.known(fact)) return;
                          const FactTable& table = view.table(names);
                          for (const SaidRule* rule : of_fact) {
                            if (rule->when.holds(table) != Truth::yes) continue;
                            if (stands_on_words(rule->when, table))
                              set_by(rule->when, table, as_said, true, view);
                            set_by(rule->when, table, fact, true, view);
                            return;
                          }
                        }});
  }
  return derivers;
}

}  // namespace

std::vector<facts::Deriver> said_facts() {
  return facts::joined({{{.name = "something said",
                          .reads = {"reader:said.*", "reader:text.account", "series:*"},
                          .gives = {"said.something"},
                          .derive = derive_something},
                         {.name = "trouble",
                          .reads = troubles().names,
                          .gives = {"said.trouble"},
                          .derive = derive_trouble}},
                        fact_by_fact()});
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

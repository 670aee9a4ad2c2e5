#include <string>
#include <vector>

#include "diagnosis/condition.h"
#include "diagnosis/incident_facts.h"
#include "diagnosis/memory_savings.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

struct Rule {
  std::string fact;
  Condition when;
};

std::vector<Rule> read_rules() {
  std::vector<Rule> rules;
  for (const knowledge::Node& entry : knowledge::file("incidents.yaml").items()) {
    core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    if (when) rules.push_back({knowledge::text_of(entry, "fact"), std::move(*when)});
  }
  return rules;
}

}  // namespace

void add_incident_rules(FactTable& facts) {
  static const std::vector<Rule> rules = read_rules();
  for (const Rule& rule : rules) {
    record::Fact fact{rule.fact, rule.when.holds(facts) == Truth::yes, {}, {}};
    for (const record::Fact* support : rule.when.support(facts)) {
      if (fact.because.empty()) fact.because = support->because;
      for (const record::Origin& origin : support->evidence) {
        if (fact.evidence.size() < 4) fact.evidence.push_back(origin);
      }
    }
    facts.set(std::move(fact));
  }
}

void add_incident_facts(const record::Run& run, FactTable& facts) {
  add_memory_facts(run, facts);
  add_saving_facts(facts);
  add_flight_facts(run, facts);
  add_hang_facts(run, facts);
  add_slow_facts(run, facts);
  add_incident_root(run, facts);
  add_incident_rules(facts);
}

}  // namespace aplomb::diagnosis

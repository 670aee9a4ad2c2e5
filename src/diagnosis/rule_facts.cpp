#include "diagnosis/rule_facts.h"

#include <utility>

namespace aplomb::diagnosis {

using facts::FactView;

void set_by(const Condition& when, const FactTable& table, std::string name, bool value,
            FactView& view) {
  constexpr std::size_t k_most_places = 4;
  std::string because;
  std::vector<record::Origin> places;
  for (const record::Fact* support : when.support(table)) {
    if (because.empty()) because = support->because;
    for (const record::Origin& origin : support->evidence) {
      if (places.size() < k_most_places) places.push_back(origin);
    }
  }
  view.set_at(std::move(name), value, std::move(because), std::move(places));
}

std::vector<facts::Deriver> rule_facts(const knowledge::Node& list) {
  std::vector<facts::Deriver> derivers;
  for (const knowledge::Node& entry : list.items()) {
    core::Result<Condition> parsed = Condition::parse(knowledge::text_of(entry, "when"));
    if (!parsed) continue;  // the tests of the knowledge hold this empty
    const std::string fact = knowledge::text_of(entry, "fact");
    const Condition when = std::move(*parsed);
    const std::vector<std::string> names = when.names();
    derivers.push_back({.name = fact,
                        .reads = names,
                        .gives = {fact},
                        .derive = [fact, when, names](FactView& view) {
                          const FactTable& table = view.table(names);
                          set_by(when, table, fact, when.holds(table) == Truth::yes, view);
                        }});
  }
  return derivers;
}

}  // namespace aplomb::diagnosis

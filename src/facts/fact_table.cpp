#include "facts/fact_table.h"

#include <utility>

namespace aplomb::facts {

void FactTable::set(record::Fact fact) {
  const auto [place, is_new] = by_name_.try_emplace(fact.name, facts_.size());
  if (is_new) facts_.push_back(std::move(fact));
}

const record::Fact* FactTable::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &facts_[found->second];
}

}  // namespace aplomb::facts

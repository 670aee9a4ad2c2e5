#pragma once
/// FactTable: facts by name. A name that is not held is unknown, which is neither true nor false.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/run.h"

namespace aplomb::facts {

class FactTable {
 public:
  void set(record::Fact fact);  ///< the first of a name stays
  const record::Fact* find(std::string_view name) const;
  const std::vector<record::Fact>& all() const { return facts_; }

 private:
  std::vector<record::Fact> facts_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace aplomb::facts

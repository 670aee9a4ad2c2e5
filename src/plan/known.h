#pragma once
/// Known: settings by canonical name, the later of two equal names in force, and what had to be
/// assumed where they are silent.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/run.h"

namespace aplomb::plan {

class Known {
 public:
  explicit Known(std::vector<record::Setting> settings) : settings_(std::move(settings)) {}

  const record::Setting* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::optional<double> number(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  /// A count or size: above 0, else `otherwise`.
  double size(std::string_view name, double otherwise) const;
  std::string word(std::string_view name, std::string_view otherwise = {}) const;
  bool truth(std::string_view name, bool otherwise = false) const;
  std::vector<std::string> words(std::string_view name) const;  ///< of `a,b,c`

  void put(std::string name, core::Value value, std::string from);

 private:
  std::vector<record::Setting> settings_;
};

}  // namespace aplomb::plan

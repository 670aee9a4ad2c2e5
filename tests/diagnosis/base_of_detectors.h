#pragma once
/// The facts that are read, with the symptoms of all detectors among them (facts/base_facts.h).

#include <string>
#include <string_view>
#include <vector>

#include "detection/bank.h"
#include "facts/base_facts.h"

namespace aplomb::test {

inline const BaseFacts& base_of_detectors() {
  static const BaseFacts the_base = [] {
    std::vector<std::string> symptoms;
    for (const auto& detector : detection::make_detectors()) {
      const auto& spec = detector->spec();
      symptoms.insert(symptoms.end(), spec.symptoms.begin(), spec.symptoms.end());
    }
    return BaseFacts(std::move(symptoms));
  }();
  return the_base;
}

inline bool is_base(std::string_view name) { return base_of_detectors().holds(name); }

}  // namespace aplomb::test

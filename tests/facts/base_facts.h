#pragma once
/// Which facts are read and not derived: settings, series, events, symptoms, what readers give
/// (`by` in knowledge/facts.yaml), what the lexicons of sentences and code hold.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "facts/declared.h"
#include "facts/fact_view.h"
#include "knowledge/document.h"
#include "knowledge/setting.h"
#include "record/role.h"

namespace aplomb::test {

class BaseFacts {
 public:
  /// `symptoms`: ids of all detectors; their measures are read as well.
  explicit BaseFacts(std::vector<std::string> symptoms)
      : declared_(facts::declared_facts()), symptoms_(std::move(symptoms)) {
    for (const knowledge::Node& entry : knowledge::file("facts.yaml").items()) {
      const std::string name = knowledge::text_of(entry, "name");
      const bool is_read = !knowledge::text_of(entry, "by").empty();
      if (!is_read && !name.starts_with("error.") && !is_symptom(name)) derived_.push_back(name);
    }
    for (const knowledge::Node& list :
         {knowledge::file("incidents.yaml"), knowledge::file("preflight.yaml")["facts"]}) {
      for (const knowledge::Node& entry : list.items())
        derived_.push_back(knowledge::text_of(entry, "fact"));
    }
  }

  /// Those that facts.yaml and its like declare and nobody reads: some deriver has to give them.
  const std::vector<std::string>& derived() const { return derived_; }

  /// Of a fact, or of a reading as derivers name them (facts/fact_view.h).
  bool holds(std::string_view name) const {
    const std::size_t colon = name.find(':');
    if (colon != std::string_view::npos)
      return is_reading(name.substr(0, colon), name.substr(colon + 1));
    if (name.ends_with('*')) return holds_some(name);
    return facts::is_declared(declared_, name) && !is_derived(name);
  }

 private:
  bool is_symptom(std::string_view name) const {
    return std::any_of(symptoms_.begin(), symptoms_.end(), [&](const std::string& id) {
      return name == id || (name.starts_with(id) && name[id.size()] == '.');
    });
  }
  bool is_derived(std::string_view name) const {
    return std::any_of(derived_.begin(), derived_.end(),
                       [&](const std::string& fact) { return facts::fits(fact, name); });
  }
  bool holds_some(std::string_view pattern) const {
    return std::any_of(declared_.begin(), declared_.end(), [&](const std::string& name) {
      return facts::fits(pattern, name) && !is_derived(name);
    });
  }
  bool is_reading(std::string_view kind, std::string_view name) const {
    if (kind == "source" || kind == "run") return name == "*";
    if (kind == "series") return name == "*" || record::role_of(name).has_value();
    if (kind == "setting") return knowledge::find_setting_spec(name) != nullptr;
    if (kind == "event")
      return name == "*" || facts::is_declared(declared_, std::string("error.").append(name));
    return kind == "reader" && holds(name);
  }

  std::vector<std::string> declared_;
  std::vector<std::string> symptoms_;
  std::vector<std::string> derived_;
};

}  // namespace aplomb::test

#pragma once
/// What a graph of derivers owes its declarations, as lists of faults: empty where all is well.

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/fact_graph.h"

namespace aplomb::test {

inline bool fits_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return facts::fits(pattern, name); });
}

inline std::vector<std::string> given_by(const facts::FactGraph& graph) {
  std::vector<std::string> all;
  for (const facts::Deriver& deriver : graph.derivers()) {
    all.insert(all.end(), deriver.gives.begin(), deriver.gives.end());
    all.insert(all.end(), deriver.fills.begin(), deriver.fills.end());
  }
  return all;
}

/// What derivers asked for or gave without having declared it. A deriver may look at what it gives.
inline std::vector<std::string> undeclared_uses(const facts::FactGraph& graph,
                                                const facts::FactTrace& trace) {
  std::vector<std::string> faults;
  for (const facts::Deriver& deriver : graph.derivers()) {
    const auto use = trace.find(deriver.name);
    if (use == trace.end()) continue;
    const auto gives = [&](const std::string& name) {
      return fits_any(deriver.gives, name) || fits_any(deriver.fills, name);
    };
    for (const std::string& name : use->second.reads) {
      if (!fits_any(deriver.reads, name) && !gives(name))
        faults.push_back(deriver.name + " asks for " + name);
    }
    for (const std::string& name : use->second.writes) {
      if (!gives(name)) faults.push_back(deriver.name + " gives " + name);
    }
  }
  return faults;
}

/// What derivers declare and were not seen to ask for or to give.
inline std::vector<std::string> unused_declarations(const facts::FactGraph& graph,
                                                    const facts::FactTrace& trace) {
  std::vector<std::string> faults;
  const auto check = [&](const facts::Deriver& deriver, const std::vector<std::string>& declared,
                         const auto& seen, const char* what) {
    for (const std::string& pattern : declared) {
      if (std::none_of(seen.begin(), seen.end(),
                       [&](const std::string& name) { return facts::fits(pattern, name); }))
        faults.push_back(deriver.name + " never " + what + " " + pattern);
    }
  };
  static const facts::FactUse nothing;
  for (const facts::Deriver& deriver : graph.derivers()) {
    const auto found = trace.find(deriver.name);
    const facts::FactUse& use = found == trace.end() ? nothing : found->second;
    check(deriver, deriver.reads, use.reads, "asks for");
    check(deriver, deriver.gives, use.writes, "gives");
    check(deriver, deriver.fills, use.writes, "gives");
  }
  return faults;
}

using IsBase = std::function<bool(std::string_view)>;

/// What derivers ask for that is neither read (`is_base`) nor given by one of them.
inline std::vector<std::string> unknown_reads(const facts::FactGraph& graph,
                                              const IsBase& is_base) {
  const std::vector<std::string> given = given_by(graph);
  std::vector<std::string> faults;
  for (const facts::Deriver& deriver : graph.derivers()) {
    for (const std::string& name : deriver.reads) {
      const bool from_some = std::any_of(given.begin(), given.end(), [&](const std::string& fact) {
        return facts::fits(name, fact) || facts::fits(fact, name);
      });
      if (!from_some && !is_base(name)) faults.push_back(deriver.name + " asks for " + name);
    }
  }
  return faults;
}

/// What derivers give as theirs although it may have been read: they may only fill it.
inline std::vector<std::string> given_over_readings(const facts::FactGraph& graph,
                                                    const IsBase& is_base) {
  std::vector<std::string> faults;
  for (const facts::Deriver& deriver : graph.derivers()) {
    for (const std::string& fact : deriver.gives) {
      if (is_base(fact)) faults.push_back(deriver.name + " gives " + fact);
    }
  }
  return faults;
}

}  // namespace aplomb::test

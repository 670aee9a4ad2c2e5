#include <algorithm>
#include <string>
#include <vector>

#include "facts/common_facts.h"
#include "knowledge/framework.h"

namespace aplomb::facts {
namespace {

using knowledge::Framework;

/// Whether the log holds every key that the framework prints together.
bool printed(const Framework& framework, const std::vector<record::Series>& all) {
  return !framework.prints.empty() &&
         std::all_of(framework.prints.begin(), framework.prints.end(), [&](const std::string& key) {
           return std::any_of(all.begin(), all.end(),
                              [&](const record::Series& series) { return series.raw_name == key; });
         });
}

/// Of several frameworks the one for vision tells more: the tables of language models share keys
/// with everybody's.
void derive_framework(FactView& view) {
  const std::vector<std::string> named = view.frameworks();
  std::string kind;
  std::string method;
  for (const Framework& framework : knowledge::frameworks()) {
    const bool is_named = std::find(named.begin(), named.end(), framework.slug) != named.end();
    if (is_named && !framework.method.empty()) method = framework.method;
    if (framework.kind.empty() || (!is_named && !printed(framework, view.all_series()))) continue;
    if (kind != "vision") kind = framework.kind;
  }
  if (!kind.empty()) view.set("framework.kind", kind, "its framework trains " + kind + " models");
  if (!method.empty()) view.set("framework.method", method, "its framework is one to " + method);
}

}  // namespace

std::vector<Deriver> framework_facts() {
  return {{.name = "framework",
           .reads = {"source:*", "series:*"},
           .gives = {"framework.kind", "framework.method"},
           .derive = derive_framework}};
}

}  // namespace aplomb::facts

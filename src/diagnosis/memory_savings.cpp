#include "diagnosis/memory_savings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/text.h"
#include "plan/savings.h"

namespace aplomb::diagnosis {
namespace {

/// Plans take milliseconds: they are made for runs that ran out of memory.
bool ran_out(const FactTable& facts) {
  return std::any_of(facts.all().begin(), facts.all().end(), [](const record::Fact& fact) {
    return fact.name.starts_with("oom.") ||
           (fact.name.starts_with("error.") && fact.name.find("oom") != std::string::npos &&
            core::is_true(fact.value));
  });
}

}  // namespace

void add_saving_facts(FactTable& facts) {
  std::vector<record::Setting> settings;
  for (const record::Fact& fact : facts.all())
    settings.push_back({fact.name, fact.value, "", "", {}});
  constexpr double k_gib = 1024.0 * 1024 * 1024;
  const plan::Known known(std::move(settings));
  for (const plan::Saving& each : plan::savings(known, "", ran_out(facts))) {
    // Two digits: these are estimates.
    facts.set({"saving." + each.rung,
               "about " + core::show_number(each.bytes / k_gib, 2) + " GiB",
               "",
               {}});
  }
}

}  // namespace aplomb::diagnosis

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "knowledge/setting.h"
#include "plan/savings.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// Plans take milliseconds: they are made for runs that ran out of memory.
bool ran_out(const FactView& view) {
  const auto errors = view.matching("error.*");
  return !view.matching("oom.*").empty() ||
         std::any_of(errors.begin(), errors.end(), [](const record::Fact* fact) {
           return fact->name.find("oom") != std::string::npos && core::is_true(fact->value);
         });
}

/// Two digits, for these are estimates, and whole numbers above a hundred: `11`, `564`.
std::string gibibytes(double bytes) {
  constexpr double k_gib = 1024.0 * 1024 * 1024;
  const double value = bytes / k_gib;
  return value < 100 ? core::show_number(value, 2) : fmt::format("{:.0f}", value);
}

void derive_savings(FactView& view) {
  std::vector<record::Setting> settings;
  for (const knowledge::SettingSpec& spec : knowledge::setting_specs()) {
    const record::Fact* fact = view.find(spec.name);
    if (fact != nullptr) settings.push_back({fact->name, fact->value, "", "", {}});
  }
  const plan::Known known(std::move(settings));
  for (const plan::Saving& each : plan::savings(known, "", ran_out(view))) {
    view.set("saving." + each.rung, "about " + gibibytes(each.bytes) + " GiB", "");
  }
}

/// A plan may ask for any setting.
std::vector<std::string> what_plans_read() {
  std::vector<std::string> names = {"oom.*", "error.*"};
  for (const knowledge::SettingSpec& spec : knowledge::setting_specs()) names.push_back(spec.name);
  return names;
}

}  // namespace

std::vector<facts::Deriver> saving_facts() {
  return {{.name = "savings",
           .reads = what_plans_read(),
           .gives = {"saving.half_micro", "saving.half_length", "saving.checkpointing",
                     "saving.no_scores", "saving.adam_8bit", "saving.zero2", "saving.offload",
                     "saving.quantised"},
           .derive = derive_savings}};
}

}  // namespace aplomb::diagnosis

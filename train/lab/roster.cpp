#include <algorithm>

#include "core/pair_table.h"
#include "train/lab/fault.h"

namespace aplomb::train::lab {

const std::vector<Fault>& faults() {
  static const std::vector<Fault> roster = [] {
    std::vector<Fault> all;
    add_nan_faults(all);
    add_diverge_faults(all);
    add_stall_faults(all);
    add_overfit_faults(all);
    add_resume_faults(all);
    add_rl_faults(all);
    add_slow_faults(all);
    return all;
  }();
  return roster;
}

const Fault* find_fault(std::string_view id) {
  const auto found = std::find_if(faults().begin(), faults().end(),
                                  [&](const Fault& each) { return each.id == id; });
  return found == faults().end() ? nullptr : &*found;
}

std::string_view name(GuardRole role) {
  static constexpr std::pair<GuardRole, std::string_view> k_names[] = {
      {GuardRole::avoids, "avoids"}, {GuardRole::stops, "stops"}, {GuardRole::nothing, "nothing"}};
  return core::second_of(k_names, role).value_or("?");
}

}  // namespace aplomb::train::lab

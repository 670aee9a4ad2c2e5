#include <algorithm>

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
  switch (role) {
    case GuardRole::avoids:
      return "avoids";
    case GuardRole::stops:
      return "stops";
    case GuardRole::nothing:
      return "nothing";
  }
  return "?";
}

}  // namespace aplomb::train::lab

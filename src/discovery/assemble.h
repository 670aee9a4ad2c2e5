#pragma once
/// Fragments (what each artifact gave) -> Runs. Which fragments tell of one run is first a matter
/// of place (run_layout.h), then of content: a log of the same steps with other values is another
/// run; one that goes on where another ends is the same run after a restart, and its series are
/// laid behind the other's.

#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::discovery {

struct Fragment {
  record::Run run;     ///< of exactly one source
  std::string folder;  ///< the run folder that its place names
};

/// Runs in the order of their first fragments.
std::vector<record::Run> assemble(std::vector<Fragment> fragments);

/// How two series of one metric relate.
enum class Relation {
  unrelated,  ///< other values at the same steps: two runs
  same,       ///< equal values at the steps that both have
  goes_on,    ///< the second begins where the first has got to: the run was resumed
};
Relation relation_of(const record::Series& first, const record::Series& second);

/// Moves everything of `part` into `run`, keeping where each thing came from.
void merge_into(record::Run& run, record::Run part);

}  // namespace aplomb::discovery

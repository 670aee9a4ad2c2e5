#pragma once
/// Paths -> the Runs that `check` judges: what is configured together, and nothing else.

#include <aplomb/check.h>

#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb {

std::vector<Run> configured_runs(const std::vector<std::string>& paths,
                                 const CheckOptions& options);

}  // namespace aplomb

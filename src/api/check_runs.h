#pragma once
/// Paths -> the Runs that `check` judges: what is configured together, and nothing else.

#include <aplomb/check.h>

#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::api {

/// The files behind the user's paths, by what is done with them.
struct CheckInputs {
  std::vector<std::string> named;     ///< configurations that the user named
  std::vector<std::string> found;     ///< what lies below folders and may be one
  std::vector<std::string> data;      ///< data sets: never read as configurations
  std::vector<std::string> programs;  ///< Python: configurations too, where they are named
};

CheckInputs sort_inputs(const std::vector<std::string>& paths);

std::vector<record::Run> configured_runs(const CheckInputs& inputs, const CheckOptions& options);

}  // namespace aplomb::api

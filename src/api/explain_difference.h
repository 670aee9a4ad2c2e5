#pragma once
/// Why two runs differ: not the first setting that differs, but what the diagnosis says of the worse
/// run and not of the other.

#include <aplomb/diagnose.h>

#include <string>

#include "compare/compare.h"
#include "record/run.h"

namespace aplomb::api {

/// A run with the path that it was asked for by.
struct AskedRun {
  record::Run run;
  std::string path;
};

/// Diagnoses both and puts what ails them into the comparison (compare::explain). Costs what
/// `aplomb diagnose` of both costs, without reading them again.
void explain_difference(compare::Comparison& comparison, AskedRun a, AskedRun b,
                        const DiagnoseOptions& options);

}  // namespace aplomb::api

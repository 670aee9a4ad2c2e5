#pragma once
/// `aplomb diagnose --fix OUT`: the first remedy, put into copies of the user's configuration.

#include <aplomb/report.h>

#include <string>

#include "core/result.h"

namespace aplomb::cli {

/// Plans the fix (api/fix_run.h) and writes its files to `out`, a file or a folder: new files,
/// never one of the inputs. What was written, from which files, and the changes as a diff: for
/// people.
core::Result<std::string> write_fix(const Report& report, const std::string& out);

}  // namespace aplomb::cli

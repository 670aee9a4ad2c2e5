#pragma once
/// `aplomb diagnose --fix OUT`: the first remedy, put into the user's configuration.

#include <aplomb/report.h>

#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb {

struct FixFile {
  std::string from;  ///< the configuration that was read
  std::vector<std::string> changes;
  std::vector<std::string> left_out;  ///< settings that this file cannot hold
};

/// Takes the first remedy of the first cause that changes settings, finds the configuration among
/// the inputs that can hold most of it, and writes the corrected one to `out`: a new file, never
/// one of the inputs. Errors: unsupported (no such remedy, or no configuration that can hold it),
/// bad_usage (`out` is an input), not_writable.
Result<FixFile> write_fix(const Report& report, const std::string& out);

}  // namespace aplomb

#pragma once
/// What the pickles among a checkpoint's files would run: every file is looked at, also those that
/// no format reads, since whoever copies the folder may load them.

#include <string>
#include <vector>

#include "core/result.h"
#include "tensors/finding.h"

namespace aplomb::checkpoint {

/// Adds what pickle::audit_pickles says of one file; whether it said anything. Errors: those of
/// tensors::MappedFile::open.
core::Result<bool> audit_file(const std::string& path, std::vector<tensors::Finding>& out);

/// The same of all files below a folder, but for those below `except`; links are not followed.
/// What cannot be read or lies too deep is `pickle.inconclusive`.
/// Whether anything was found.
bool audit_folder(const std::string& folder, const std::string& except,
                  std::vector<tensors::Finding>& out);

}  // namespace aplomb::checkpoint

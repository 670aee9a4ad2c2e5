#pragma once
#include <chrono>
#include <string>

#include "core/result.h"
#include "preflight/python_process.h"

namespace aplomb::preflight {

/// Runs `python -I -c program` (PythonProcess) with `input` on its standard input and gives what it
/// printed.
/// Errors: not_found (no such interpreter), internal (no output, or none in time; the process is
/// ended then).
core::Result<std::string> run_python(const std::string& python, const std::string& program,
                                     const std::string& input, std::chrono::seconds limit,
                                     Packages packages = Packages::installed);

}  // namespace aplomb::preflight

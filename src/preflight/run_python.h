#pragma once
#include <chrono>
#include <string>

#include "core/result.h"

namespace aplomb::preflight {

/// Runs `python -I -c program` with `input` on its standard input and gives what it printed. In
/// isolated mode neither the environment nor the folder it runs in decides what is imported.
/// Errors: not_found (no such interpreter), internal (no output, or none in time; the process is
/// ended then).
core::Result<std::string> run_python(const std::string& python, const std::string& program,
                                     const std::string& input, std::chrono::seconds limit);

}  // namespace aplomb::preflight

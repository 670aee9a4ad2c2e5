#pragma once
/// The embedded package (audit_files.h) in an interpreter: what to run, and what to hand it.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace aplomb::preflight {

/// Imports the package from what it is handed, never from the disk, and calls a module's main().
std::string embedded_program();

/// What embedded_program() reads from its input: `main(request)` of this module is called.
std::string embedded_request(const std::string& module, nlohmann::json request);

}  // namespace aplomb::preflight

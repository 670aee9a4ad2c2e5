#pragma once
/// The embedded package (audit_files.h) in an interpreter: what to run, and what to hand it.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace aplomb::preflight {

/// Imports the package from what it is handed, never from the disk, and calls a module's main().
std::string embedded_program();

/// What the interpreter may use of the machine; no limits where `cpu_s` is 0.
struct PythonLimits {
  std::uint32_t cpu_s = 0;
  std::uint64_t memory_bytes = 0;
};

/// What embedded_program() reads from its input: `main(request)` of this module is called, under
/// these limits.
std::string embedded_request(const std::string& module, nlohmann::json request,
                             const PythonLimits& limits = {});

}  // namespace aplomb::preflight

#pragma once
/// The Python package aplomb.audit as it was embedded at build.

#include <cstddef>

namespace aplomb::preflight {

struct AuditFile {
  const char* name;  ///< of the module: `program.names`; empty: the package itself
  const char* text;
};

extern const AuditFile k_audit_files[];  // NOLINT(modernize-avoid-c-arrays): made by CMake
extern const std::size_t k_audit_file_count;

}  // namespace aplomb::preflight

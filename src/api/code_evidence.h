#pragma once
/// What the programs of runs show to be wrong, as facts `code.*` with their lines: the audit of
/// whole programs (preflight/code_audit.h) over the scripts that are artifacts of a run.

#include <map>
#include <string>
#include <vector>

#include "preflight/code_audit.h"
#include "record/run.h"

namespace aplomb::api {

/// Audits by the programs they are of: path, size and time of modification of each.
using AuditMemory = std::map<std::string, preflight::CodeAudit>;

/// For every run: the findings of its scripts take the place of what patterns saw in them. A script
/// (or a rule over it) that could not be judged is a Defect, and what patterns saw of it stays. Nothing
/// changes where there is no script or no `python` is asked for. Bounded: at most k_most_programs
/// scripts of k_most_program_bytes each, and 20 s of processor time.
/// `memory` (if given) keeps what was found: programs that have not changed are not audited again.
void add_code_evidence(std::vector<record::Run>& runs, const std::string& python,
                       AuditMemory* memory = nullptr);

inline constexpr std::size_t k_most_programs = 16;
inline constexpr std::uint64_t k_most_program_bytes = 512U << 10U;

}  // namespace aplomb::api

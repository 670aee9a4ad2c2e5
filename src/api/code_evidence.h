#pragma once
/// What the programs of runs show to be wrong, as facts `code.*` with their lines: the audit of
/// whole programs (preflight/code_audit.h) over the scripts that are artifacts of a run.

#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::api {

/// For every run: the findings of its scripts take the place of what patterns saw in them. Nothing
/// changes where there is no script, no `python`, or no program that it can parse. Bounded: at most
/// k_most_programs scripts of k_most_program_bytes each, and 20 s.
void add_code_evidence(std::vector<record::Run>& runs, const std::string& python);

inline constexpr std::size_t k_most_programs = 16;
inline constexpr std::uint64_t k_most_program_bytes = 512U << 10U;

}  // namespace aplomb::api

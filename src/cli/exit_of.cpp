#include "cli/exit_of.h"

#include <algorithm>

#include "cli/output.h"

namespace aplomb::cli {

int exit_of(const Report& report) {
  const bool read = std::any_of(report.inputs.begin(), report.inputs.end(),
                                [](const ReportInput& input) { return input.kind != "unknown"; });
  if (!read) return k_exit_usage;  // a report about nothing
  return report.verdict == Verdict::healthy ? k_exit_healthy : k_exit_found;
}

}  // namespace aplomb::cli

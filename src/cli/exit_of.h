#pragma once
/// The exit status that a report stands for.

#include <aplomb/report.h>

namespace aplomb::cli {

/// k_exit_usage where nothing could be read, else k_exit_healthy or k_exit_found (cli/output.h).
int exit_of(const Report& report);

}  // namespace aplomb::cli

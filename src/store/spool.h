#pragma once
/// Runs that wait for a database that was away, one a file, in a folder of this user alone.

#include <string>

#include "core/result.h"
#include "store/run_store.h"

namespace aplomb::store {

/// Lays the run down whole, or not at all; the file. Errors: not_writable.
core::Result<std::string> lay_down(const PastRun& run, const std::string& folder);

/// Tells the store what waits, and removes what it has taken; how many. A file that is no run is left.
std::size_t send_waiting(RunStore& store, const std::string& folder);

}  // namespace aplomb::store

#pragma once
/// Where the runs of this user are remembered.

#include <string>

namespace aplomb::store {

/// `APLOMB_STORE` where it is set (`off`: nowhere, an empty answer), else `aplomb/runs.db` in the user's
/// data folder ($XDG_DATA_HOME, ~/.local/share). Empty where no home is known.
std::string default_path();

/// Whether runs are kept at `path` already.
bool is_there(const std::string& path);

}  // namespace aplomb::store

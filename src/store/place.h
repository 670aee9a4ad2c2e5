#pragma once
/// Where the runs of this user are remembered.

#include <string>

#include "core/result.h"

namespace aplomb::store {

/// `APLOMB_STORE` where it is set (a path or postgresql://...; `off`: nowhere, an empty answer), else `aplomb/runs.db` in the user's
/// data folder ($XDG_DATA_HOME, ~/.local/share). Empty where no home is known.
std::string default_path();

/// `postgresql://...`: a database that a team shares, and no file.
bool is_of_a_team(const std::string& place);

/// Whether runs are kept there already; of a database that is supposed.
bool is_there(const std::string& place);

/// The place without user and password, for messages.
std::string shown_place(const std::string& place);

/// Makes it and what it lies in, each that is missing for this user alone (as the base directory specification has it).
/// Errors: not_writable.
core::Result<void> make_private_folder(const std::string& path);

/// Where runs wait for a database that is away: a folder of its own for each, in the user's data folder. Empty where no
/// home is known.
std::string waiting_folder(const std::string& place);

}  // namespace aplomb::store

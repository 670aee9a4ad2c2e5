#pragma once
/// still_page(): the live page of a run, stopped: one file with the same components, that opens from a disk and asks
/// nothing of anybody.

#include <string>

#include "live/follower.h"

namespace aplomb::serve {

/// `id`: as of Follower::glances(). Errors: not_found (no such run), internal (the program was built without its page).
core::Result<std::string> still_page(const live::Follower& follower, const std::string& id);

}  // namespace aplomb::serve

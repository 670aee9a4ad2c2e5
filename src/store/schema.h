#pragma once
/// The tables of the store and how an older file comes to have them.

#include <string>

#include "store/database.h"

namespace aplomb::store {

/// Of the newest tables that this program knows (PRAGMA user_version).
int newest_version();

/// Brings the file to the newest version, in one transaction; `path` is for the words of what it throws:
/// a DatabaseFault where the file is another program's, or of a newer version.
void prepare(Database& database, const std::string& path);

}  // namespace aplomb::store

#pragma once
/// The runs of a team, in a PostgreSQL database: many writers of many nodes at once. Each run is one row: what is asked
/// for in columns, the whole as JSON (aplomb.run/1). Tables `aplomb_about` and `aplomb_run`, made by the first writer.
/// A database that is away or slow is given up after seconds; what should have been kept waits (spool.h).

#include <memory>
#include <string>

#include "store/run_store.h"

namespace aplomb::store {

/// `url`: postgresql://... as of libpq (https://www.postgresql.org/docs/current/libpq-connect.html). No error holds its
/// password.
core::Result<std::unique_ptr<RunStore>> open_team_store(const std::string& url, Access access);

}  // namespace aplomb::store

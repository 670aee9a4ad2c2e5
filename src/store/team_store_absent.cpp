#include "store/team_store.h"

/// Of a program that was built without libpq.
namespace aplomb::store {

core::Result<std::unique_ptr<RunStore>> open_team_store(const std::string& /*url*/,
                                                        Access /*access*/) {
  return core::fail(core::ErrorCode::unsupported,
                    "[store] this aplomb was built without PostgreSQL (libpq-dev): name a file");
}

}  // namespace aplomb::store

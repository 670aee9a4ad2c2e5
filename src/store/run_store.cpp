#include "store/run_store.h"

#include "store/place.h"
#include "store/store.h"
#include "store/team_store.h"

namespace aplomb::store {

core::Result<std::unique_ptr<RunStore>> open_store(const std::string& place, Access access) {
  if (is_of_a_team(place)) return open_team_store(place, access);
  core::Result<Store> own = Store::open(place, access);
  if (!own) return tl::unexpected(own.error());
  return std::make_unique<Store>(*std::move(own));
}

}  // namespace aplomb::store

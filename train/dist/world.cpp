#include "train/dist/world.h"

#include <charconv>
#include <cstring>
#include <optional>

namespace aplomb::train::dist {
namespace {

struct Names {
  const char *rank, *size, *local_rank, *local_size;
};
constexpr Names k_launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};

tl::unexpected<core::Error> wrong(const std::string& text) {
  return core::fail(core::ErrorCode::bad_usage, "[ranks] " + text);
}

/// Nothing where the variable is not set; -1 where it holds no count.
std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int value = -1;
  const auto [end, fault] = std::from_chars(text, text + std::strlen(text), value);
  return fault == std::errc() && *end == '\0' && value >= 0 ? value : -1;
}

core::Result<void> put_meeting_place(const Environment& environment, World& world) {
  const char* address = environment("MASTER_ADDR");
  const auto port = number(environment, "MASTER_PORT");
  const bool has_address = address != nullptr && *address != '\0';
  if (!has_address && !port) {
    if (world.local_size == world.size) return {};
    return wrong(
        "MASTER_ADDR and MASTER_PORT are not set, and the ranks are on several machines: set them "
        "to the address of rank 0's machine and a free port there (mpirun: -x MASTER_ADDR=... -x "
        "MASTER_PORT=...)");
  }
  if (!has_address || !port || *port < 1 || *port > 65535)
    return wrong("MASTER_ADDR and MASTER_PORT have to be set both, the port from 1 to 65535");
  world.address = address;
  world.port = static_cast<std::uint16_t>(*port);
  return {};
}

}  // namespace

core::Result<World> world_from(const Environment& environment) {
  World world;
  const Names* found = nullptr;
  for (const Names& each : k_launchers) {
    const bool here = environment(each.rank) != nullptr;
    if (here != (environment(each.size) != nullptr))
      return wrong(std::string("only one of ") + each.rank + " and " + each.size +
                   " is set: start all ranks by one launcher (torchrun, mpirun)");
    if (!here) continue;
    found = &each;
    break;
  }
  if (found == nullptr) return world;
  world.rank = number(environment, found->rank).value_or(-1);
  world.size = number(environment, found->size).value_or(-1);
  if (world.rank < 0 || world.size < 1 || world.rank >= world.size)
    return wrong(std::string(found->rank) + " and " + found->size + " are no rank of a number: `" +
                 environment(found->rank) + "` of `" + environment(found->size) + "`");
  if (world.size == 1) return world;
  const auto local_rank = number(environment, found->local_rank);
  const auto local_size = number(environment, found->local_size);
  world.local_rank = local_rank.value_or(0);
  world.local_size = local_size.value_or(1);
  if (world.local_rank < 0 || world.local_size < 1 || world.local_rank >= world.local_size)
    return wrong(std::string(found->local_rank) + " and " + found->local_size +
                 " are no rank of a number");
  const char* agent = environment("TORCHELASTIC_USE_AGENT_STORE");
  world.store_is_there = agent != nullptr && std::strcmp(agent, "True") == 0;
  if (const char* attempt = environment("TORCHELASTIC_RESTART_COUNT")) world.attempt = attempt;
  if (auto put = put_meeting_place(environment, world); !put) return tl::unexpected(put.error());
  return world;
}

}  // namespace aplomb::train::dist

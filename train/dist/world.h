#pragma once
/// World: which of how many processes ("ranks") this one is, as its launcher says in the
/// environment.
///
///     const Result<World> world = world_from([](const char* name) { return std::getenv(name); });
///
/// | launcher | rank, number, place on the machine |
/// | --- | --- |
/// | torchrun, by hand | RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE |
/// | mpirun of Open MPI | OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK,LOCAL_SIZE} |
/// | mpirun of MPICH and its kin | PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS |
///
/// The first row that is there counts. MASTER_ADDR and MASTER_PORT say where rank 0 is met; an MPI
/// launcher that leaves them out will do as long as all ranks are on one machine.

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"

namespace aplomb::train::dist {

struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;        ///< ranks on this machine
  std::string address = {};  ///< where rank 0 is met; empty: on this machine, nobody said where
  std::uint16_t port = 0;
  bool store_is_there = false;  ///< the launcher serves the store at address:port (torchrun)
  std::string attempt = "0";    ///< of a launcher that starts failed ranks anew
};

/// The value of a variable; null: not set.
using Environment = std::function<const char*(const char*)>;

/// One rank where no launcher speaks. Errors: bad_usage, for half an environment or numbers that do
/// not fit.
core::Result<World> world_from(const Environment& environment);

}  // namespace aplomb::train::dist

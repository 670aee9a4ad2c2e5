#pragma once
/// meet(): the connections between all ranks, from nothing but the launcher's environment. Ranks
/// find each other in c10d's TCPStore (torchrun's, or one of rank 0); each connection begins with a
/// word that only this run knows, so that nobody else gets in by chance.

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "core/result.h"
#include "train/dist/socket.h"
#include "train/dist/world.h"

namespace aplomb::train::dist {

struct Links {
  Socket next, previous;                  ///< of the ring
  std::vector<Socket> control;            ///< as Control wants them
  c10::intrusive_ptr<c10d::Store> store;  ///< rank 0's lives as long as this
};

/// Fails where a rank does not come in time (the text names it) or the place cannot be reached.
core::Result<Links> meet(const World& world, std::chrono::seconds patience);

}  // namespace aplomb::train::dist

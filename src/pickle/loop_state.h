#pragma once
/// What a training loop keeps in a checkpoint beside weights and optimizer, under whatever key its
/// author chose: the states of random generators, and where in the data the run stood.
///
///     {"model": ..., "rng": {"python": ..., "torch": ...}, "sampler": {"epoch": 1, "position": 80}}
///     {"model": ..., "torch_rng_state": ..., "consumed_samples": 12064}
///
/// A random state is told by its key or by what it is: 5,056 bytes are torch's Mersenne Twister,
/// 16 a CUDA generator (seed and offset), `("MT19937", ...)` numpy's, `(3, (625 numbers), None)`
/// Python's. A position in the data is told by its key. Keys of the root count and those of dicts
/// one level below it, which are not a model's, an optimizer's or a schedule's.

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pickle/pickle.h"

namespace aplomb::pickle {

struct LoopState {
  std::vector<std::string> generators;     ///< whose states: torch, cuda, numpy, python
  std::vector<std::string> data_position;  ///< keys that say where in the data the run stood
};

/// `apart` are the nodes that hold weights, moments and schedules.
LoopState loop_state_in(const PickleDocument& document, const std::unordered_set<NodeId>& apart);

/// A file that is one random state, or a dict of them (`rng_state_0.pth`).
std::vector<std::string> generators_in(const PickleDocument& document);

/// Whether a key says where in the data a run stands: `sampler_state`, `dataloader`, `data_position`,
/// `consumed_train_samples`, `batch_idx`, `tokens_seen`.
bool names_data_position(std::string_view key);

}  // namespace aplomb::pickle

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

#include <unordered_set>

#include "checkpoint/checkpoint.h"
#include "pickle/pickle.h"

namespace aplomb::checkpoint {

/// Adds to `out.generators` and `out.data_position`; `apart` are the nodes that hold weights, moments
/// and schedules.
void take_loop_state(const pickle::PickleDocument& document,
                     const std::unordered_set<pickle::NodeId>& apart, Checkpoint& out);

/// A file that is one random state, or a dict of them (`rng_state_0.pth`).
void take_generators(const pickle::PickleDocument& document, Checkpoint& out);

/// Whether a key says where in the data a run stands: `sampler_state`, `dataloader`, `data_position`,
/// `consumed_train_samples`, `batch_idx`, `tokens_seen`.
bool names_data_position(std::string_view key);

}  // namespace aplomb::checkpoint

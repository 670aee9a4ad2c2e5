#pragma once
/// Reads an optimizer's state_dict out of a pickle's tree: {"state": {0: {"step", "exp_avg", ...}},
/// "param_groups": [{"lr", "betas", ..., "params": [0, 1, ...]}]}.

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

using IsWanted = bool (*)(const pickle::PickleDocument&, const pickle::PickleNode&);
/// Nodes down to that depth below the root that are wanted, breadth first; none is looked for in
/// them, and in the state of objects where `in_objects` says so.
std::vector<pickle::NodeId> find_nodes(const pickle::PickleDocument& document, int most_depth,
                                       bool in_objects, IsWanted is_wanted);
/// The nodes at or little below the root that are optimizer state_dicts, in their order.
std::vector<pickle::NodeId> find_optimizers(const pickle::PickleDocument& document);

/// Takes the first of `nodes`; further ones (Muon beside AdamW, a GAN's second) are appended: their
/// ids are shifted behind those of the first.
std::optional<OptimizerState> read_optimizers(const TorchFile& file,
                                              const std::vector<pickle::NodeId>& nodes);

}  // namespace aplomb::checkpoint

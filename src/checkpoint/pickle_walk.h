#pragma once
/// The tensors in the tree of a pickle, under the names that lead to them.

#include <functional>
#include <string>

#include "pickle/pickle.h"

namespace aplomb::checkpoint {

/// Walks the tree from `from` and calls `visit(name, tensor index)` for each tensor once, under
/// the first name that leads to it: dict keys joined by dots, positions of lists. Bounded in depth;
/// a node that was seen is not entered again. Of a DTensor or ShardedTensor it is the local tensor.
void visit_tensors(const pickle::PickleDocument& document, pickle::NodeId from,
                   const std::function<void(const std::string& name, std::size_t tensor)>& visit);

}  // namespace aplomb::checkpoint

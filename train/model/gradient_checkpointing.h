#pragma once
/// Gradient checkpointing (arXiv 1604.06174): of a part of the network only the input is kept, and
/// the part runs again when its gradient is wanted.

#include <torch/types.h>

#include <functional>
#include <vector>

namespace aplomb::train::model {

/// run(x), with the same value and gradients as if it were called plainly. `trained` are the leaves
/// that `run` uses and that want gradients: theirs go through autograd as ever, so hooks on them
/// fire once. Random numbers of the second run are those of the first.
torch::Tensor run_checkpointed(const std::function<torch::Tensor(const torch::Tensor&)>& run,
                               const torch::Tensor& x, const std::vector<torch::Tensor>& trained);

}  // namespace aplomb::train::model

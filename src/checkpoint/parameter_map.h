#pragma once
/// Which weight an optimizer's numbered parameter is.
///
/// optimizer.pt knows parameters by position only. They are matched by shape, and among equal
/// shapes by the model's order: that of the file (torch.save keeps it) or, for safetensors, which
/// sorts by name, the order in which modelling code usually creates parameters. Groups (Hugging
/// Face Trainer: first the decayed, then norms and biases) come in their own order; since norms and
/// biases are vectors and the decayed weights are not, shapes keep the groups apart.

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_kind.h"

namespace aplomb::checkpoint {

struct MappedParameter {
  std::int64_t id = 0;
  std::size_t group = 0;
  const ParameterState* state = nullptr;  ///< null: the optimizer has not stepped it
  std::optional<std::size_t> tensor;      ///< index into Checkpoint::tensors
  bool sure = false;  ///< no other weight of this shape, or the order is the model's own
};

struct ParameterMap {
  std::vector<MappedParameter> parameters;  ///< in the optimizer's order
  std::vector<std::size_t> unheld;          ///< weights that no optimizer holds
  bool counts_agree = false;                ///< of every shape as many weights as parameters
  bool certain() const;
};

/// Empty where the checkpoint has no optimizer.
ParameterMap map_parameters(const Checkpoint& checkpoint);

/// Of the weights that no optimizer holds those that nothing says are left out on purpose: an adapter's
/// base is frozen, a tied head is its embedding, averages and teachers are written and not trained.
std::vector<std::size_t> meant_to_train(const Checkpoint& checkpoint, const ParameterMap& map);

}  // namespace aplomb::checkpoint

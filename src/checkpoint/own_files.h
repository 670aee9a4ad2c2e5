#pragma once
/// What aplomb's own trainer leaves in a checkpoint beside the weights, and optimizer state in
/// safetensors in general.

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"

namespace aplomb::checkpoint {

/// `__metadata__.format` of a safetensors file that holds an optimizer's state, whatever its name:
/// tensors `exp_avg.NAME`, `exp_avg_sq.NAME`, `step.NAME`, `momentum_buffer.NAME`, NAME as the
/// weights' file calls the parameter; `__metadata__.groups` is JSON text:
///
///     [{"lr":1e-4,"initial_lr":2e-4,"beta1":0.9,...,"parameters":["base_model...lora_A.weight"]}]
inline constexpr std::string_view k_optimizer_format = "aplomb.optimizer/1";

/// Whether a safetensors file says that it holds an optimizer's state.
bool is_optimizer_file(const SafetensorsFile& file);

/// The state in a file of the above form, or of any that names its tensors `NAME.exp_avg` or
/// `exp_avg.NAME` (MLX: `NAME.m`, `NAME.v`). Nothing where no tensor is named so. Groups that
/// cannot be read are one group without numbers.
std::optional<OptimizerState> optimizer_of(SafetensorsFile file, const std::string& path);

/// training_state.json: step, epoch, loss scale, random states and the number of processes, under
/// the names that a Checkpoint has for them. Text that is no such JSON adds nothing; false then.
bool take_training_state(std::string_view json, Checkpoint& out);

}  // namespace aplomb::checkpoint

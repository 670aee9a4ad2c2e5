#pragma once
/// The linear layers of a model with their names.

#include <memory>
#include <string>
#include <vector>

#include "train/model/language_model.h"

namespace aplomb::train::model {

struct NamedLinear {
  std::string name;  ///< model.layers.0.self_attn.q_proj
  std::shared_ptr<Linear> linear;
};

/// In the order of the layers; the head only where it is a layer of its own.
std::vector<NamedLinear> named_linears(const LanguageModel& model);

}  // namespace aplomb::train::model

#pragma once
/// Which tensors of a checkpoint somebody asked for: by name, by what they are for.

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_kind.h"

namespace aplomb::checkpoint {

/// `*` stands for any characters, `?` for one; nothing else is special.
bool matches_glob(std::string_view pattern, std::string_view text);

/// `norm`, `bias`, `embedding`, `attention`, `mlp`, `router`, `conv`, `lora_a`, `lora_b`, `head`,
/// `buffer`, `other`.
const std::vector<std::string>& kind_words();

struct TensorFilter {
  std::vector<std::string> only;   ///< globs, any of which has to fit; none: every name does
  std::vector<std::string> kinds;  ///< of kind_words(); none: every kind

  bool empty() const { return only.empty() && kinds.empty(); }
  bool takes(std::string_view name, TensorKind kind) const;
};

/// Leaves only the weights that the filter takes.
void keep_tensors(Checkpoint& checkpoint, const TensorFilter& filter);

}  // namespace aplomb::checkpoint

#pragma once
/// Post-processors of tokenizer.json, for one sequence: what they come to is ids before the text
/// and ids after it.

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "train/text/json_access.h"

namespace aplomb::train::text {

struct Surroundings {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
};

/// Errors name the part that is not read.
core::Result<Surroundings> read_post_processor(const Json& json);

}  // namespace aplomb::train::text

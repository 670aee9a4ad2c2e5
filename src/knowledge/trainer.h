#pragma once
#include <string>
#include <string_view>

#include "record/run.h"

namespace aplomb::knowledge {

/// The framework that trains: the one whose keys a user of this run would change. Its artifacts and
/// settings vote; tables that are only parts of a trainer (`fsdp`, `hf-model`) do not count, and of
/// two that stand on each other (`trl` on `hf-trainer`) the upper one wins. Empty where nothing
/// tells.
std::string trainer_of(const record::Run& run);

/// The framework that `slug` is built on in the end (`hf-trainer` of LLaMA-Factory), itself where on
/// none.
std::string base_of(std::string_view slug);

/// Whether `slug` is `base` or built on it.
bool is_built_on(std::string_view slug, std::string_view base);

}  // namespace aplomb::knowledge

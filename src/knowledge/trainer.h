#pragma once
#include <string>

#include "record/run.h"

namespace aplomb::knowledge {

/// The framework that trains: the one whose keys a user of this run would change. Its artifacts and
/// settings vote; tables that are only parts of a trainer (`fsdp`, `hf-model`) do not count, and of
/// two that stand on each other (`trl` on `hf-trainer`) the upper one wins. Empty where nothing
/// tells.
std::string trainer_of(const record::Run& run);

}  // namespace aplomb::knowledge

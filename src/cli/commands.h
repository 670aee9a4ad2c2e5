#pragma once
/// Every command of the roster, in its order.

#include <memory>
#include <vector>

#include "cli/command.h"

namespace aplomb::cli {

std::vector<std::unique_ptr<Command>> make_commands();

/// The program with its commands declared; `commands` must outlive it.
std::unique_ptr<arguments::Program> make_program(
    const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace aplomb::cli

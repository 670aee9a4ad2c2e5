#pragma once
/// Command: one verb of the program. One a file; roster.def lists them. Only this folder prints or
/// exits.

#include <CLI/CLI.hpp>
#include <memory>

namespace aplomb {

class Command {
 public:
  virtual ~Command() = default;
  /// Adds the subcommand with its options and examples to the program.
  virtual CLI::App* declare(CLI::App& program) = 0;
  /// Whether the user asked for this command; after parsing.
  virtual bool wanted() const = 0;
  /// 0 healthy (or done), 1 something was found, 2 usage or unreadable input.
  virtual int run() = 0;
};

}  // namespace aplomb

#pragma once
/// Command: one verb of the program. One a file; roster.def lists them. Only this folder prints or
/// exits.

#include <memory>

#include "arguments/arguments.h"

namespace aplomb::cli {

class Command {
 public:
  virtual ~Command() = default;
  /// Makes `verb_` a verb of the program, with its options and examples.
  virtual void declare(const arguments::Verb& program) = 0;
  /// Whether the user asked for this command; after parsing.
  bool wanted() const { return verb_.is_wanted(); }
  /// 0 healthy (or done), 1 something was found, 2 usage or unreadable input.
  virtual int run() = 0;

 protected:
  arguments::Verb verb_;
};

}  // namespace aplomb::cli

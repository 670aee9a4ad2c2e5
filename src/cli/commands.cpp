#include "cli/commands.h"

#include "core/version.h"

namespace aplomb::cli {

#define APLOMB_MEMBER(slug) std::unique_ptr<Command> make_##slug##_command();
#include "cli/roster.def"
#undef APLOMB_MEMBER

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> all;
#define APLOMB_MEMBER(slug) all.push_back(make_##slug##_command());
#include "cli/roster.def"
#undef APLOMB_MEMBER
  return all;
}

std::unique_ptr<arguments::Program> make_program(
    const std::vector<std::unique_ptr<Command>>& commands) {
  auto program = std::make_unique<arguments::Program>(
      "aplomb says why a deep-learning training run went wrong, and how to mend it.", "aplomb");
  program->version("aplomb " + std::string(core::version()));
  program->footer(
      "Examples:\n"
      "  aplomb                                   what lies in this folder, and what can be done "
      "with it\n"
      "  aplomb diagnose out/                     whatever the run left in its folder\n"
      "  aplomb diagnose train.log config.yaml    a log and the configuration\n"
      "  aplomb diagnose out/ --html report.html  the same as a page to send to others\n"
      "  aplomb explain loss.spike                what a word in the report means\n"
      "\n"
      "Exit status: 0 healthy, 1 something was found, 2 usage or unreadable input.\n"
      "Input is only read, never executed; nothing leaves this machine.");
  program->requires_verb();
  for (const auto& command : commands) command->declare(*program);
  return program;
}

}  // namespace aplomb::cli

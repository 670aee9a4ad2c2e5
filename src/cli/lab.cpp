#include "cli/command.h"
#include "cli/trainer_program.h"

namespace aplomb::cli {
namespace {

/// `aplomb lab`: runs that are broken on purpose. The trainer makes them, and answers.
class LabCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("lab",
                         "Break runs on purpose, and score what is said of them: list, run, sweep");
    verb_.passes_words_on();  // --help is the laboratory's
    verb_.footer("See `aplomb lab --help`.");
  }

  int run() override {
    std::vector<std::string> words = verb_.rest();
    words.insert(words.begin(), "lab");
    return become_trainer(std::move(words));
  }
};

}  // namespace

std::unique_ptr<Command> make_lab_command() { return std::make_unique<LabCommand>(); }

}  // namespace aplomb::cli

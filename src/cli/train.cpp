#include "cli/command.h"
#include "cli/trainer_program.h"

namespace aplomb::cli {
namespace {

/// `aplomb train` is a program of its own: it links LibTorch, which no other command needs. This
/// one finds it and becomes it; words, standard streams and exit status are the trainer's.
class TrainCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("train", "Fine-tune a model (LoRA, DoRA, full), stable by construction");
    verb_.passes_words_on();  // --help is the trainer's
    verb_.footer("See `aplomb train --help`.");
  }

  int run() override { return become_trainer(verb_.rest()); }
};

}  // namespace

std::unique_ptr<Command> make_train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace aplomb::cli

#include "cli/command.h"
#include "cli/trainer_program.h"

namespace aplomb {
namespace {

/// `aplomb train` is a program of its own: it links LibTorch, which no other command needs. This
/// one finds it and becomes it; words, standard streams and exit status are the trainer's.
class TrainCommand : public Command {
 public:
  CLI::App* declare(CLI::App& program) override {
    app_ = program.add_subcommand("train",
                                  "Fine-tune a model (LoRA, DoRA, full), stable by construction");
    app_->set_help_flag();  // --help is the trainer's
    app_->prefix_command();
    app_->footer("See `aplomb train --help`.");
    return app_;
  }

  bool wanted() const override { return app_->parsed(); }
  int run() override { return become_trainer(app_->remaining()); }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace aplomb

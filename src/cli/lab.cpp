#include "cli/command.h"
#include "cli/trainer_program.h"

namespace aplomb {
namespace {

/// `aplomb lab`: runs that are broken on purpose. The trainer makes them, and answers.
class LabCommand : public Command {
 public:
  CLI::App* declare(CLI::App& program) override {
    app_ = program.add_subcommand(
        "lab", "Break runs on purpose, and score what is said of them: list, run, sweep");
    app_->set_help_flag();  // --help is the laboratory's
    app_->prefix_command();
    app_->footer("See `aplomb lab --help`.");
    return app_;
  }

  bool wanted() const override { return app_->parsed(); }

  int run() override {
    std::vector<std::string> words = app_->remaining();
    words.insert(words.begin(), "lab");
    return become_trainer(std::move(words));
  }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_lab_command() { return std::make_unique<LabCommand>(); }

}  // namespace aplomb

#include <aplomb/diagnose.h>

#include "cli/command.h"
#include "cli/exit_of.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/standard_input.h"
#include "cli/views.h"
#include "core/text.h"

namespace aplomb {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
  std::string html;
  std::string fix;
  std::size_t most = 3;
  bool verbose = false;
  std::string colour = "auto";
};

class DiagnoseCommand : public Command {
 public:
  CLI::App* declare(CLI::App& program) override {
    app_ = program.add_subcommand("diagnose",
                                  "Say what went wrong with a run, why, and what to change");
    app_->add_option("PATH", options_.paths,
                     "files or folders that the run left; - reads standard input")
        ->required();
    app_->add_flag("--json", options_.json, "print the report as JSON (schema aplomb.report/1)");
    app_->add_option("--html", options_.html, "write the report as one self-contained page")
        ->type_name("FILE");
    app_->add_option(
            "--fix", options_.fix,
            "write the first remedy into a copy of the run's configuration (a folder for several "
            "files)")
        ->type_name("OUT");
    app_->add_option("--most", options_.most, "how many causes to list")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app_->add_flag("--verbose,-v", options_.verbose, "show everything that was found");
    app_->add_option("--color,--colour", options_.colour, "colours on the terminal")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
    app_->footer(
        "Examples:\n"
        "  aplomb diagnose out/checkpoint-500/trainer_state.json\n"
        "  aplomb diagnose train.log axolotl.yaml --html report.html\n"
        "  aplomb diagnose train.log axolotl.yaml --fix fixed.yaml\n"
        "  kubectl logs trainer-0 | aplomb diagnose -\n"
        "  aplomb diagnose --json runs/ | jq '.causes[0]'\n"
        "\n"
        "Exit status: 0 healthy, 1 something was found, 2 usage or unreadable input.");
    return app_;
  }

  bool wanted() const override { return app_->parsed(); }

  int run() override {
    StandardInput standard_input;
    std::vector<std::string> paths = options_.paths;
    if (!all_exist(paths) || !take_standard_input(paths, standard_input)) return k_exit_usage;
    Progress progress(is_terminal_error());
    DiagnoseOptions how;
    how.most_causes = std::max<std::size_t>(options_.most, how.most_causes);
    how.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
    Report report = diagnose(paths, how);
    progress.clear();
    standard_input.rename_in(report);
    return write(report);
  }

 private:
  static bool take_standard_input(std::vector<std::string>& paths, StandardInput& input) {
    for (std::string& path : paths) {
      if (path != "-") continue;
      const Result<std::string> kept = input.keep();
      if (!kept) {
        complain(kept.error().text);
        return false;
      }
      path = *kept;
    }
    return true;
  }

  int write(const Report& report) const {
    RenderOptions how = for_terminal(options_.colour);
    how.most_causes = options_.most;
    how.verbose = options_.verbose;
    const bool written = save_view(report, how, "html", options_.html) &&
                         print_view(report, how, options_.json ? "json" : "terminal") &&
                         save_fix(report, options_.fix);
    return written ? exit_of(report) : k_exit_usage;
  }

  CLI::App* app_ = nullptr;
  Options options_;
};

}  // namespace

std::unique_ptr<Command> make_diagnose_command() { return std::make_unique<DiagnoseCommand>(); }

}  // namespace aplomb

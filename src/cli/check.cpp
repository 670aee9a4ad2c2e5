#include <aplomb/check.h>

#include "cli/command.h"
#include "cli/confine.h"
#include "cli/exit_of.h"
#include "cli/local_gpu.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/views.h"
#include "core/text.h"
#include "knowledge/hardware.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
  bool agent = false;
  std::string html;
  bool lines = false;
  std::string sarif;
  std::string fix;
  std::string gpu;
  bool verbose = false;
  std::string colour = "auto";
};

class CheckCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb(
        "check", "Say what is wrong with a configuration, a data set or a program before it runs");
    verb_
        .option("PATH", options_.paths,
                "configurations, a model's folder, data sets, training scripts")
        .required();
    verb_.option("--gpu", options_.gpu, "the card that the run is for (default: this machine's)")
        .value_name("NAME");
    verb_
        .option("--fix", options_.fix,
                "write the remedies into a copy of the configuration (a folder for several "
                "files)")
        .value_name("OUT");
    add_json_flag(verb_, options_.json);
    add_agent_flag(verb_, options_.agent);
    verb_.flag("--lines", options_.lines,
               "print one line a finding (path:line:1: warning: ...), for editors");
    verb_.option("--sarif", options_.sarif, "write the findings for code review (SARIF 2.1.0)")
        .value_name("FILE");
    add_html_option(verb_, options_.html, "the report");
    confinement_.declare(verb_);
    add_terminal_options(verb_, options_.verbose, "everything that was found", options_.colour);
    verb_.footer(
        "Examples:\n"
        "  aplomb check axolotl.yaml --gpu T4\n"
        "  aplomb check train.yaml ds_config.json --fix fixed/\n"
        "  aplomb check configs/ --sarif aplomb.sarif\n"
        "\n"
        "Exit status: 0 nothing found (notes do not count), 1 something was found, 2 usage or "
        "unreadable input.");
  }

  int run() override {
    if (!all_exist(options_.paths)) return k_exit_usage;
    if (!options_.gpu.empty() && !knowledge::find_named_gpu(options_.gpu))
      complain(core::sanitize(options_.gpu) +
               ": no card that is known; the rules that need one are silent. Write it as "
               "nvidia-smi does.");
    Progress progress(is_terminal_error());
    CheckOptions how;
    how.gpu = options_.gpu;
    how.local_gpu = options_.gpu.empty() ? local_gpu() : std::string();
    confinement_.enter({options_.html, options_.sarif, options_.fix});
    how.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
    const Report report = check(options_.paths, how);
    progress.clear();
    return write(report);
  }

 private:
  int write(const Report& report) const {
    report::RenderOptions how = for_terminal(options_.colour);
    how.verbose = options_.verbose;
    const bool written = save_view(report, how, "html", options_.html) &&
                         save_view(report, how, "sarif", options_.sarif) &&
                         print_view(report, how,
                                    options_.agent   ? "agent"
                                    : options_.json  ? "json"
                                    : options_.lines ? "lines"
                                                     : "findings") &&
                         save_fix(fixable(report), options_.fix);
    return written ? exit_of(report) : k_exit_usage;
  }

  Options options_;
  Confinement confinement_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace aplomb::cli

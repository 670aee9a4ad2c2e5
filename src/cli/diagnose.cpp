#include <aplomb/diagnose.h>

#include "cli/byte_size.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/exit_of.h"
#include "cli/names_here.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/prose_reader.h"
#include "cli/remember.h"
#include "cli/shared_options.h"
#include "cli/standard_input.h"
#include "cli/views.h"
#include "core/text.h"
#include "report/redact_report.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
  bool agent = false;
  std::string html;
  std::string fix;
  std::size_t most = 3;
  bool verbose = false;
  bool follow = false;
  bool redact = false;
  bool remember = false;
  std::string store;
  std::string most_read = "0";
  std::string colour = "auto";
};

class DiagnoseCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("diagnose", "Say what went wrong with a run, why, and what to change");
    verb_
        .option("PATH", options_.paths,
                "files or folders that the run left; - reads standard input")
        .required();
    add_json_flag(verb_, options_.json);
    add_agent_flag(verb_, options_.agent);
    add_html_option(verb_, options_.html, "the report");
    verb_
        .option(
            "--fix", options_.fix,
            "write the first remedy into a copy of the run's configuration (a folder for several "
            "files)")
        .value_name("OUT");
    verb_.option("--most", options_.most, "how many causes to list").within(1, 100).shows_default();
    verb_
        .option(
            "--max-read", options_.most_read,
            "of a text log larger than this (16M, 1G) look at every line and read so much: what "
            "tells the most; 0 reads all of it")
        .value_name("BYTES")
        .shows_default();
    verb_.flag("--follow", options_.follow, "follow links that lead out of the folders");
    verb_.flag(
        "--redact", options_.redact,
        "replace user, host and home names, addresses, accounts and keys in all that is said");
    verb_.flag("--remember", options_.remember,
               "keep the run in the store of runs (aplomb history)");
    verb_
        .option("--store", options_.store,
                "another store of runs: a file, or postgresql://HOST/DATABASE of a team")
        .value_name("PLACE");
    reader_.declare(verb_);
    confinement_.declare(verb_);
    add_terminal_options(verb_, options_.verbose, "everything that was found", options_.colour);
    verb_.footer(
        "Examples:\n"
        "  aplomb diagnose out/checkpoint-500/trainer_state.json\n"
        "  aplomb diagnose train.log axolotl.yaml --html report.html\n"
        "  aplomb diagnose train.log axolotl.yaml --fix fixed.yaml\n"
        "  kubectl logs trainer-0 | aplomb diagnose -\n"
        "  aplomb diagnose --max-read 64M of-a-month.log\n"
        "  aplomb diagnose --json runs/ | jq '.causes[0]'\n"
        "  aplomb diagnose --reader http://127.0.0.1:8080/v1 what-happened.txt\n"
        "  aplomb diagnose out/ --redact --html for-the-issue.html\n"
        "\n"
        "Exit status: 0 healthy, 1 something was found, 2 usage or unreadable input.");
  }

  int run() override {
    StandardInput standard_input;
    std::vector<std::string> paths = options_.paths;
    if (!all_exist(paths) || !take_standard_input(paths, standard_input)) return k_exit_usage;
    Progress progress(is_terminal_error());
    DiagnoseOptions how;
    how.follow_links = options_.follow;
    const std::optional<std::uint64_t> most_read = parse_byte_size(options_.most_read);
    if (!most_read) {
      complain("--max-read: " + core::sanitize(options_.most_read) +
               " is no number of bytes; write 16M, 1G or 0");
      return k_exit_usage;
    }
    how.most_log_bytes = *most_read;
    for (const std::string& out : {options_.html, options_.fix}) {
      if (out.empty()) continue;
      if (const auto allowed = may_write(out); !allowed) {
        complain(allowed.error().text);
        return k_exit_usage;
      }
    }
    if (const auto allowed = reader_.check(); !allowed) {
      complain(allowed.error().text);
      return k_exit_usage;
    }
    how.most_causes = std::max<std::size_t>(options_.most, how.most_causes);
    if (options_.redact) names_ = names_here();
    Remembering memory;
    memory.begin(options_.remember, options_.store);
    how.declared = reader_.ask(paths);
    confinement_.enter({options_.html, options_.fix}, standard_input.paths());
    how.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
    Report report = diagnose(paths, how);
    progress.clear();
    standard_input.rename_in(report);
    memory.finish(report);
    return write(report);
  }

 private:
  static bool take_standard_input(std::vector<std::string>& paths, StandardInput& input) {
    for (std::string& path : paths) {
      if (path != "-") continue;
      const core::Result<std::string> kept = input.keep();
      if (!kept) {
        complain(kept.error().text);
        return false;
      }
      path = *kept;
    }
    return true;
  }

  int write(const Report& report) const {
    report::RenderOptions how = for_terminal(options_.colour);
    how.most_causes = options_.most;
    how.verbose = options_.verbose;
    const Report shown = options_.redact ? redacted(report) : report;
    const bool written = save_view(shown, how, "html", options_.html) &&
                         print_view(shown, how,
                                    options_.agent  ? "agent"
                                    : options_.json ? "json"
                                                    : "terminal") &&
                         save_fix(report, options_.fix);
    return written ? exit_of(report) : k_exit_usage;
  }

  /// What was replaced is told beside, for the eyes of whoever has the originals.
  Report redacted(const Report& report) const {
    report::Redactor redact(names_);
    Report out = report::redact_report(report, redact);
    const std::vector<report::Replaced> replaced = redact.replaced();
    std::string told = replaced.empty() ? "nothing had to be redacted" : "redacted:";
    for (const report::Replaced& each : replaced)
      told += "\n  " + each.stand_in + "  " + core::sanitize(each.shown);
    complain(told);
    return out;
  }

  Options options_;
  Confinement confinement_;
  ProseReader reader_;
  report::RedactNames names_;
};

}  // namespace

std::unique_ptr<Command> make_diagnose_command() { return std::make_unique<DiagnoseCommand>(); }

}  // namespace aplomb::cli

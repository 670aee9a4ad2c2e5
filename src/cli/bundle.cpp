#include "api/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "api/flow.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/names_here.h"
#include "cli/output.h"
#include "cli/views.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string out = "aplomb-bundle.tar.gz";
  bool yes = false;
  bool dry_run = false;
  std::size_t first_steps = api::BundleOptions{}.first_steps;
};

/// `hosts`, `addresses`, `entities`.
std::string many(std::string kind) {
  if (kind.ends_with("s")) return kind + "es";
  if (!kind.ends_with("y") || kind.ends_with("ey")) return kind + "s";
  kind.back() = 'i';
  return kind + "es";
}

std::string table_of(const api::Bundle& bundle) {
  std::string text;
  for (const api::BundleEntry& entry : bundle.entries) {
    text += fmt::format("  {:<44} {:>10}  {}\n", core::shorten(entry.name, 44),
                        core::show_bytes(static_cast<double>(entry.bytes.size())), entry.what);
  }
  std::string taken;
  for (const auto& [kind, count] : bundle.redacted) {
    taken +=
        fmt::format("{}{} {}", taken.empty() ? "" : ", ", count, count == 1 ? kind : many(kind));
  }
  for (const report::Replaced& each : bundle.replaced) {
    text += fmt::format("  {:<16} {}\n", each.stand_in, each.shown);
  }
  for (const std::string& path : bundle.refused) {
    text += fmt::format("Left out, it is a file of secrets: {}\n", core::sanitize(path));
  }
  text += taken.empty() ? "Nothing had to be redacted.\n" : "Redacted: " + taken + ".\n";
  return text;
}

class BundleCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("bundle", "Pack what a bug report needs into one redacted archive");
    verb_.option("PATH", options_.paths, "files or folders that the run left").required();
    verb_.option("-o,--out", options_.out, "the archive to write")
        .value_name("FILE")
        .shows_default();
    verb_.flag("-y,--yes", options_.yes, "write without asking");
    verb_.flag("--dry-run", options_.dry_run, "show what it would hold, write nothing");
    verb_.option("--first-steps", options_.first_steps, "training records kept from the start")
        .within(0, 10000)
        .shows_default();
    confinement_.declare(verb_);
    verb_.footer(
        "It holds the report, the head and the end of each log, the first steps, the lines around\n"
        "everything that was found, small configuration files, settings and versions. User and\n"
        "host names, home folders, accounts, addresses, keys and passwords are replaced (the list "
        "is\n"
        "shown first); files of secrets (.env, .netrc, keys) stay out. Never weights or data.\n"
        "\n"
        "Examples:\n"
        "  aplomb bundle out/ --dry-run\n"
        "  aplomb bundle out/ train.log -o for-the-issue.tar.gz --yes\n"
        "\n"
        "Exit status: 0 written (or shown), 2 usage, unreadable input or refused.");
  }

  int run() override {
    if (!all_exist(options_.paths)) return k_exit_usage;
    if (const auto allowed = may_write(options_.out); !allowed) {
      complain(allowed.error().text);
      return k_exit_usage;
    }
    const report::RedactNames names = names_here();
    confinement_.enter({options_.out});
    DiagnoseOptions reading;
    reading.leaves_out = report::is_secret_file;
    const std::vector<report::DiagnosedRun> runs = api::diagnose_runs(options_.paths, reading);
    api::BundleOptions how;
    how.first_steps = options_.first_steps;
    how.names = names;
    const api::Bundle bundle = api::make_bundle(runs, api::report_of(runs, {}), how);
    if (!write_out(fmt::format("{}:\n{}", options_.out, table_of(bundle)))) return k_exit_usage;
    if (options_.dry_run) return k_exit_healthy;
    if (!options_.yes && !agreed()) return k_exit_usage;
    const core::Result<std::uint64_t> written = api::write_bundle(bundle, options_.out);
    if (!written) {
      complain(written.error().text);
      return k_exit_usage;
    }
    const std::string said =
        fmt::format("Written: {} ({}). Look into it before you send it.\n", options_.out,
                    core::show_bytes(static_cast<double>(*written)));
    return write_out(said) ? k_exit_healthy : k_exit_usage;
  }

 private:
  static bool agreed() {
    if (isatty(STDIN_FILENO) == 0) {
      complain("not written: no terminal to ask on; say --yes to write it");
      return false;
    }
    if (!write_out("Write it? [y/N] ")) return false;
    std::string answer;
    std::getline(std::cin, answer);
    return core::iequals(core::trim(answer), "y") || core::iequals(core::trim(answer), "yes");
  }

  Options options_;
  Confinement confinement_;
};

}  // namespace

std::unique_ptr<Command> make_bundle_command() { return std::make_unique<BundleCommand>(); }

}  // namespace aplomb::cli

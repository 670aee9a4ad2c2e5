#include "compare/compare.h"

#include "api/explain_difference.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/views.h"
#include "core/text.h"
#include "discovery/collect.h"
#include "report/compare_view.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::string first;
  std::vector<std::string> others;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<std::string> noise;
  std::string by = "steps";
  bool json = false;
  std::string html;
  bool verbose = false;
  std::string colour = "auto";
};

class CompareCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("compare",
                         "Say whether two runs differ by more than noise, from where, and in what");
    verb_.option("A", options_.first, "the baseline: a file or folder that the run left");
    verb_.option("B", options_.others,
                 "the run to judge against it; of several the last, those before it are of A's "
                 "configuration");
    verb_.option("--a,-a", options_.a, "several runs of the baseline, with other seeds")
        .value_name("RUN...");
    verb_.option("--b,-b", options_.b, "several runs to judge against it").value_name("RUN...");
    verb_
        .option("--noise", options_.noise,
                "runs of A's configuration with other seeds: how far such runs lie apart")
        .value_name("RUN...");
    verb_.option("--by", options_.by, "what samples are paired by")
        .one_of({"steps", "tokens"})
        .shows_default();
    verb_.flag("--json", options_.json, "print as JSON (schema aplomb.compare/1)");
    verb_.option("--html", options_.html, "write one self-contained page with charts")
        .value_name("FILE");
    confinement_.declare(verb_);
    add_terminal_options(verb_, options_.verbose, "every metric and setting", options_.colour);
    verb_.footer(
        "Examples:\n"
        "  aplomb compare runs/baseline runs/new\n"
        "  aplomb compare runs/seed1 runs/new --noise runs/seed2 runs/seed3 runs/seed4\n"
        "  aplomb compare --a old1 old2 old3 --b new1 new2 new3 --html compare.html\n"
        "  aplomb compare old.log new.log --by tokens --json | jq .verdict\n"
        "\n"
        "Exit status: 0 no difference beyond noise, 1 a difference (or too few samples to\n"
        "tell), 2 usage or input that cannot be compared.");
  }

  int run() override {
    std::vector<std::string> notes;
    compare::Seeds seeds;
    if (!sides() || !all_exist(options_.a) || !all_exist(options_.b)) return k_exit_usage;
    confinement_.enter({options_.html});
    for (const std::string& path : options_.a) {
      if (!read(path, seeds.a, notes)) return k_exit_usage;
    }
    for (const std::string& path : options_.b) {
      if (!read(path, seeds.b, notes)) return k_exit_usage;
    }
    record::Run a = std::move(seeds.a.front());
    record::Run b = std::move(seeds.b.front());
    seeds.a.erase(seeds.a.begin());
    seeds.b.erase(seeds.b.begin());
    auto made = compare::compare_runs(
        a, b, seeds, options_.by == "tokens" ? compare::Axis::tokens : compare::Axis::step);
    if (!made) {
      complain(core::sanitize(made.error().text));
      return k_exit_usage;
    }
    made->notes.insert(made->notes.end(), notes.begin(), notes.end());
    api::explain_difference(*made, {std::move(a), options_.a.front()},
                            {std::move(b), options_.b.front()}, {});
    return write(*made);
  }

 private:
  /// Both ways to name the runs -> options_.a and .b, at least one each.
  bool sides() {
    if (!options_.others.empty() && options_.a.empty() && options_.b.empty()) {
      options_.a = {options_.first};
      options_.a.insert(options_.a.end(), options_.others.begin(), options_.others.end() - 1);
      options_.b = {options_.others.back()};
    } else if (!options_.first.empty() || options_.a.empty() || options_.b.empty()) {
      complain("give two runs, A B, or several a side: --a A1 A2 --b B1 B2");
      return false;
    }
    options_.a.insert(options_.a.end(), options_.noise.begin(), options_.noise.end());
    return true;
  }

  static bool read(const std::string& path, std::vector<record::Run>& runs,
                   std::vector<std::string>& notes) {
    Progress progress(is_terminal_error());
    discovery::CollectOptions how;
    how.progress = [&progress](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
    std::vector<record::Run> found = discovery::collect({path}, how);
    progress.clear();
    std::string note;
    core::Result<record::Run> chosen = compare::chosen_run(std::move(found), path, note);
    if (!chosen) {
      complain(core::sanitize(chosen.error().text));
      return false;
    }
    if (!note.empty()) notes.push_back(note);
    chosen->name = path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
    runs.push_back(std::move(*chosen));
    return true;
  }

  int write(const compare::Comparison& comparison) const {
    report::RenderOptions how = for_terminal(options_.colour);
    how.verbose = options_.verbose;
    if (!options_.html.empty() && !save(options_.html, report::compare_html(comparison)))
      return k_exit_usage;
    if (!print(options_.json ? report::compare_json(comparison)
                             : report::compare_text(comparison, how)))
      return k_exit_usage;
    const bool fine = comparison.verdict == compare::Judgement::identical ||
                      comparison.verdict == compare::Judgement::same;
    return fine ? k_exit_healthy : k_exit_found;
  }

  Options options_;
  Confinement confinement_;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace aplomb::cli

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "api/checkpoint_report.h"
#include "checkpoint/tensor_filter.h"
#include "cli/ckpt_convert.h"
#include "cli/ckpt_heat.h"
#include "cli/ckpt_json.h"
#include "cli/ckpt_latest.h"
#include "cli/ckpt_manifest.h"
#include "cli/ckpt_tables.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/mpi_ranks.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "core/text.h"
#include "report/renderer.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::string path;
  std::string other;
  bool json = false;
  std::string html;
  std::size_t most = 20;
  std::string as;
  std::uint64_t steps = 200;
  bool verify = false;
  int threads = 0;
  std::size_t world = 0;
  checkpoint::TensorFilter filter;
  ManifestOptions manifest;
};

constexpr std::size_t k_most_causes = 8;

/// One line of progress for several threads; gone when the work is done.
class SharedProgress {
 public:
  ~SharedProgress() { progress_.clear(); }
  void show(std::uint64_t done_bytes, std::uint64_t all_bytes) {
    const std::scoped_lock hold(mutex_);
    progress_.show(done_bytes, all_bytes);
  }

 private:
  std::mutex mutex_;
  Progress progress_{::isatty(STDERR_FILENO) == 1};
};

class CkptCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("ckpt", "Look into checkpoints: weights, optimizer, precision");
    verb_.requires_verb();
    verb_.footer(
        "Examples:\n"
        "  aplomb ckpt scan out/checkpoint-500             NaN, zeros, dtypes, magnitudes\n"
        "  aplomb ckpt diff out/checkpoint-200 out/checkpoint-400   what moved, what froze\n"
        "  aplomb ckpt precision out/checkpoint-200        which updates round away\n"
        "  aplomb ckpt resume out/checkpoint-500 --json    what a resume would lose\n"
        "  aplomb ckpt latest out                          which one to resume from\n"
        "  aplomb ckpt convert IN OUT --dtype float32      fp32 masters from bf16 weights\n"
        "\n"
        "Pickles are parsed, never loaded: nothing in a checkpoint is executed. What loading them\n"
        "with Python would run is pickle.dangerous, what is on no list pickle.suspicious, what "
        "cannot\n"
        "be followed pickle.inconclusive (`aplomb list checkpoints`).\n"
        "`mpirun -n N aplomb ckpt scan PATH` (or diff) shares the work among N processes.\n"
        "Exit status: 0 healthy, 1 something was found, 2 usage or unreadable input.");
    scan_ = part("scan", "Statistics of every tensor, and what is wrong on sight");
    scan_.flag("--verify", options_.verify, "check the checksums of torch archives as well");
    scan_
        .option("--manifest", options_.manifest.compare,
                "compare every file's SHA-256 with this manifest (lines of sha256sum)")
        .value_name("FILE");
    scan_.option("--write-manifest", options_.manifest.write, "write such a manifest")
        .value_name("FILE");
    diff_ = part("diff", "What moved between two checkpoints of a run, and what did not");
    diff_.option("LATER", options_.other, "the later checkpoint").required();
    precision_ = part("precision", "Which weights would swallow the optimizer's next update");
    precision_.option("--as", options_.as, "predict for weights in this format")
        .one_of({"fp32", "bf16", "fp16"});
    precision_.option("--steps", options_.steps, "how far to look ahead").shows_default();
    optimizer_ = part("optimizer", "Groups, learning rates, moments, and weights nobody holds");
    resume_ = part("resume", "What a resume from this checkpoint would get back and lose");
    resume_.option("--world", options_.world, "how many processes will resume").positive();
    latest_.declare(verb_);
    convert_.declare(verb_);
  }

  int run() override {
    if (latest_.is_wanted()) return latest_.run();
    if (convert_.is_wanted()) return convert_.run();
    std::string why;
    ranks_ = MpiRanks::start(why);
    if (!why.empty()) complain(why);
    // What reads every weight is shared among the processes; the first one answers the rest alone.
    const bool shared = scan_.is_wanted() || diff_.is_wanted();
    if (ranks_ && ranks_->rank() > 0 && !shared) return k_exit_healthy;
    never_write({options_.path});
    if (!options_.other.empty()) never_write({options_.other});
    if (!options_.manifest.compare.empty()) never_write({options_.manifest.compare});
    for (const std::string& each : {options_.html, options_.manifest.write}) {
      if (each.empty()) continue;
      if (const auto allowed = may_write(each); !allowed) return refuse(allowed.error());
    }
    // Processes of MPI speak with each other as long as they run.
    if (!ranks_) confinement_.enter({options_.html, options_.manifest.write});
    auto checkpoint = api::open_newest_checkpoint(options_.path, options_.verify);
    if (!checkpoint) return refuse(checkpoint.error());
    // Precision and optimizer match weights with the optimizer's parameters: they need them all.
    if (scan_.is_wanted() || diff_.is_wanted())
      checkpoint::keep_tensors(*checkpoint, options_.filter);
    api::CheckpointFindings findings;
    findings.checkpoint = &*checkpoint;
    if (scan_.is_wanted()) return scan(*checkpoint);
    if (diff_.is_wanted()) return diff(findings);
    if (precision_.is_wanted()) return precision(findings);
    if (optimizer_.is_wanted()) {
      const checkpoint::ParameterMap map = checkpoint::map_parameters(*checkpoint);
      findings.parameters = &map;
      return finish(findings, optimizer_table(*checkpoint, map, options_.most));
    }
    const checkpoint::ResumeAudit audit = checkpoint::audit_resume(*checkpoint, options_.world);
    findings.resume = &audit;
    return finish(findings, resume_table(audit));
  }

 private:
  /// A verb of `ckpt`, with the options that all of them share.
  arguments::Verb part(const char* slug, const char* what) {
    arguments::Verb made = verb_.verb(slug, what);
    made.option("PATH", options_.path, "a checkpoint's folder or file, or a run's folder")
        .required();
    add_json_flag(made, options_.json);
    add_html_option(made, options_.html, "the report");
    made.option("--only", options_.filter.only, "only tensors whose name fits (* and ?)")
        .value_name("GLOB");
    made.option("--kind", options_.filter.kinds, "only tensors of this kind")
        .one_of(checkpoint::kind_words());
    made.option("--threads", options_.threads, "how many read; 0: one a processor")
        .within(0, 256)
        .shows_default();
    confinement_.declare(made);
    made.option("--most", options_.most, "how many tensors to list").shows_default();
    return made;
  }

  static int refuse(const core::Error& error) {
    complain(core::sanitize(error.text));
    return k_exit_usage;
  }

  int scan(checkpoint::Checkpoint& checkpoint) {
    api::CheckpointFindings findings;
    findings.checkpoint = &checkpoint;
    const checkpoint::Survey seen = look(checkpoint);
    findings.survey = &seen;
    if (ranks_ && ranks_->rank() > 0) return k_exit_healthy;
    if (const auto done = apply_manifest(options_.manifest, threads(), checkpoint); !done)
      return refuse(done.error());
    return finish(findings, survey_table(checkpoint, seen, options_.most));
  }

  int diff(api::CheckpointFindings findings) {
    auto later = api::open_newest_checkpoint(options_.other);
    if (!later) return refuse(later.error());
    checkpoint::keep_tensors(*later, options_.filter);
    const checkpoint::CheckpointDiff moved = compare(*findings.checkpoint, *later);
    if (ranks_ && ranks_->rank() > 0) return k_exit_healthy;
    const checkpoint::Precision predicted =
        options_.filter.empty() ? checkpoint::predict_precision(*later) : checkpoint::Precision();
    findings.before = findings.checkpoint;
    findings.checkpoint = &*later;
    findings.diff = &moved;
    findings.precision = &predicted;
    return finish(findings, diff_table(moved, options_.most));
  }

  int precision(api::CheckpointFindings findings) {
    const checkpoint::Checkpoint& checkpoint = *findings.checkpoint;
    const auto as = options_.as.empty() ? std::nullopt : numerics::format_of(options_.as);
    checkpoint::Precision own = checkpoint::predict_precision(checkpoint, {as, options_.steps});
    if (!options_.filter.empty()) keep(own);
    if (!own.why_not.empty()) {
      complain(core::sanitize(checkpoint.path) + ": " + own.why_not + "; nothing can be predicted");
      return k_exit_usage;
    }
    findings.precision = &own;
    return finish(findings,
                  options_.json
                      ? std::string()
                      : precision_table(own,
                                        checkpoint::predict_precision(
                                            checkpoint, {numerics::Format::bf16, options_.steps}),
                                        checkpoint::predict_precision(
                                            checkpoint, {numerics::Format::fp32, options_.steps}),
                                        options_.most));
  }

  int threads() const {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    return options_.threads > 0 ? options_.threads : static_cast<int>(processors);
  }

  /// The survey, with a line on standard error where it takes more than a second.
  checkpoint::Survey look(const checkpoint::Checkpoint& checkpoint) const {
    checkpoint::SurveyOptions how;
    how.threads = threads();
    SharedProgress progress;
    how.progress = [&, all = checkpoint.weight_bytes()](std::uint64_t done) {
      progress.show(done, all);
    };
    if (ranks_) {
      how.rank = static_cast<std::size_t>(ranks_->rank());
      how.ranks = static_cast<std::size_t>(ranks_->size());
      how.join = [&](auto& stats) { join_ranks(stats); };
    }
    return checkpoint::survey(checkpoint, how);
  }

  /// The difference, likewise.
  checkpoint::CheckpointDiff compare(const checkpoint::Checkpoint& before,
                                     const checkpoint::Checkpoint& after) const {
    checkpoint::DiffOptions how;
    how.threads = threads();
    SharedProgress progress;
    how.progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
    if (ranks_) {
      how.rank = static_cast<std::size_t>(ranks_->rank());
      how.ranks = static_cast<std::size_t>(ranks_->size());
      how.join = [&](auto& parts) { join_ranks(parts); };
    }
    return checkpoint::diff_checkpoints(before, after, how);
  }

  /// Every process sends what it found to the first one.
  template <class Found>
  void join_ranks(std::vector<std::optional<Found>>& all) const {
    static_assert(std::is_trivially_copyable_v<Found>);
    constexpr std::size_t k_row = sizeof(std::uint64_t) + sizeof(Found);
    std::string own;
    for (std::uint64_t i = 0; ranks_->rank() > 0 && i < all.size(); ++i) {
      if (!all[i]) continue;
      own.append(reinterpret_cast<const char*>(&i), sizeof i);             // NOLINT: as bytes
      own.append(reinterpret_cast<const char*>(&*all[i]), sizeof(Found));  // NOLINT
    }
    for (const std::string& theirs : ranks_->gather(own)) {
      for (std::size_t at = 0; at + k_row <= theirs.size(); at += k_row) {
        std::uint64_t index = 0;
        Found one;
        std::memcpy(&index, theirs.data() + at, sizeof index);
        std::memcpy(&one, theirs.data() + at + sizeof index, sizeof one);
        if (index < all.size()) all[index] = one;
      }
    }
  }

  void keep(checkpoint::Precision& precision) const {
    std::erase_if(precision.tensors, [&](const checkpoint::TensorPrecision& each) {
      return !options_.filter.takes(each.name, each.kind);
    });
    precision.asked = precision.lost = 0;
    for (const checkpoint::TensorPrecision& each : precision.tensors) {
      precision.asked += each.lost.asked;
      precision.lost += each.lost.lost;
    }
  }

  int finish(const api::CheckpointFindings& findings, const std::string& table) {
    const Report report = api::report_checkpoint(findings, k_most_causes);
    report::RenderOptions how;
    how.width = terminal_width();
    how.unicode = is_utf8_locale();
    if (!options_.html.empty()) {
      const report::Renderer* html = report::find_renderer("html");
      if (html == nullptr) return k_exit_usage;
      if (const auto done =
              write_file(options_.html, with_heat_map(html->render(report, how), findings));
          !done) {
        return refuse(done.error());
      }
    }
    const report::Renderer* json = report::find_renderer("json");
    const std::string text = options_.json && json != nullptr
                                 ? with_tensors(json->render(report, how), findings)
                                 : table + verdict(report);
    if (const auto done = write_out(text); !done) return refuse(done.error());
    return report.verdict == Verdict::healthy ? k_exit_healthy : k_exit_found;
  }

  /// What was found, below the table: symptoms with their tensors, and the likely cause.
  static std::string verdict(const Report& report) {
    std::string out = "\n";
    for (const ReportSymptom& symptom : report.symptoms) {
      out += symptom.severity + "  " + symptom.id + ": " + symptom.summary + "\n";
    }
    if (report.symptoms.empty()) out += "Nothing wrong found.\n";
    if (report.causes.empty()) return out;
    const ReportCause& cause = report.causes.front();
    out += fmt::format("\nLikely cause ({:.0f} %): {} [{}]\n", 100 * cause.probability, cause.title,
                       cause.id);
    for (const ReportRemedy& remedy : cause.remedies) out += "  - " + remedy.text + "\n";
    return out;
  }

  arguments::Verb scan_;
  arguments::Verb diff_;
  arguments::Verb precision_;
  arguments::Verb optimizer_;
  arguments::Verb resume_;
  CkptLatest latest_;
  CkptConvert convert_;
  Options options_;
  Confinement confinement_;
  std::unique_ptr<MpiRanks> ranks_;
};

}  // namespace

std::unique_ptr<Command> make_ckpt_command() { return std::make_unique<CkptCommand>(); }

}  // namespace aplomb::cli

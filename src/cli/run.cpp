#include <aplomb/diagnose.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "alarm/child_program.h"
#include "cli/alert_option.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/price_option.h"
#include "cli/remember.h"
#include "core/new_file.h"
#include "core/text.h"
#include "report/renderer.h"
#include "watch/attach.h"
#include "watch/run_note.h"
#include "watch/wrapped.h"

namespace aplomb::cli {
namespace {

// What shells say of a program that is not there, or may not be executed.
constexpr int k_exit_no_program = 127;
constexpr int k_exit_not_executable = 126;
/// How long the end of the run waits for its last alarm to be sent.
constexpr std::chrono::seconds k_alarm_patience{10};
/// How long the log so far may be diagnosed for an alarm, and the most that the report may be.
constexpr std::chrono::seconds k_explain_patience{60};
constexpr std::size_t k_most_report = std::size_t{16} << 20U;

/// Cause, headline and first fix of what was written so far, told by another process: the training's log is read
/// once more, and no fault of a reader reaches the training.
void explain(const std::string& folder, alarm::Notice& notice) {
  std::vector<std::string> words = {"/proc/self/exe", "diagnose", "--json",
                                    "--most",         "1",        folder + "/output.log"};
  const bool hangs = notice.what == alarm::Notice::What::hang;
  // What its threads wait for was written just now.
  if (hangs && notice.step) words.push_back(fmt::format("{}/hang-{}.txt", folder, *notice.step));
  const auto ran =
      alarm::run_program(words, {}, k_explain_patience, {{"APLOMB_STORE", "off"}}, k_most_report);
  if (!ran) return;
  // Its warnings stand on standard error, which comes with it.
  const std::size_t begin = std::min(ran->output.find('{'), ran->output.size());
  const std::size_t end = ran->output.rfind('}');
  if (end == std::string::npos || end < begin) return;
  const auto report =
      nlohmann::json::parse(ran->output.substr(begin, end + 1 - begin), nullptr, false);
  if (!report.is_object() || !report.contains("summary") || !report.contains("causes")) return;
  const nlohmann::json& causes = report["causes"];
  if (!causes.is_array() || causes.empty()) return;
  // Of a run that stands still its losses say little: only what is likely is told as the cause.
  if (hangs && causes.front().value("probability", 0.0) < 0.5) return;
  const std::string headline = report["summary"].value("headline", std::string());
  notice.cause = causes.front().value("id", notice.cause);
  notice.text = hangs ? notice.text + ". " + headline : headline;
  notice.fix = report["summary"].value("first_action", std::string());
}

/// `aplomb-run/2026-03-01-142501`, with a number behind it where that is taken.
core::Result<std::string> make_folder(const std::string& wanted) {
  namespace fs = std::filesystem;
  std::error_code why;
  if (!wanted.empty()) {
    fs::create_directories(wanted, why);
    if (why)
      return core::fail(core::ErrorCode::not_writable, "[run] " + wanted + ": " + why.message());
    return wanted;
  }
  char stamp[32];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d-%H%M%S", &local);
  fs::create_directories("aplomb-run", why);
  for (int i = 1; i < 100 && !why; ++i) {
    std::string path = fmt::format("aplomb-run/{}{}", stamp, i == 1 ? "" : fmt::format("-{}", i));
    if (fs::create_directory(path, why)) return path;
  }
  return core::fail(core::ErrorCode::not_writable, "[run] aplomb-run: " + why.message());
}

/// The words behind the first `--` as the system gave them: no parser may see brackets or empty
/// words in them.
std::vector<std::string> words_behind_dashes() {
  std::vector<std::string> words;
  std::FILE* file = std::fopen("/proc/self/cmdline", "rb");
  if (file == nullptr) return words;
  std::string all;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) all += static_cast<char>(c);
  std::fclose(file);
  bool behind = false;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    std::string word = all.substr(begin, end - begin);
    if (behind)
      words.push_back(std::move(word));
    else
      behind = word == "--";
    begin = end + 1;
  }
  return words;
}

/// The script that a command starts: `train.py` of `torchrun --nproc-per-node 8 train.py --lr 1e-3`;
/// empty where it names none that is there.
std::string script_of(const std::vector<std::string>& command) {
  const auto found = std::find_if(command.begin(), command.end(), [](const std::string& word) {
    std::error_code no_throw;
    return word.ends_with(".py") && std::filesystem::is_regular_file(word, no_throw);
  });
  return found == command.end() ? std::string() : *found;
}

/// Ends as the program has ended: the same status, or by the same signal.
int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the program has left its core, if it leaves one
  std::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  return 128 + number;
}

class RunCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb(
        "run", "Run a training, read its output while it comes, say when something is wrong");
    verb_.option("COMMAND", words_, "the program and its arguments, behind --").required();
    verb_
        .option("--out", folder_,
                "folder for output.log, report.json, report.html and hang-N.txt (default: "
                "aplomb-run/TIME)")
        .value_name("DIR");
    verb_
        .option("--stop-on", stop_on_,
                "end the program when it is seen to have failed, to be unstable, or to hang")
        .one_of({"failed", "unstable", "hang"})
        .one_each();
    verb_.flag("--record", record_,
               "of PyTorch programs also record every optimizer step, without a change to them");
    verb_.flag("--guard", guard_,
               "and leave out steps with NaN, Inf or a leaping gradient norm (one process)");
    verb_.flag(
        "--deterministic", deterministic_,
        "of PyTorch programs seed Python, NumPy and torch, and ask for deterministic kernels: "
        "the same command gives the same numbers, more slowly");
    verb_.option("--seed", seed_, "the seed of --deterministic")
        .within(0, 4294967295)
        .shows_default();
    verb_
        .option("--hang-factor", options_.hang_factor,
                "silence of so many times the median time between records is a hang")
        .within_real(2, 1e6)
        .shows_default();
    verb_.option("--hang-after", hang_after_, "and of so many seconds at least")
        .within(1, 1000000)
        .shows_default();
    verb_.option("--grace", grace_, "seconds between SIGTERM and SIGKILL")
        .within(0, 100000)
        .shows_default();
    verb_.flag("--live", live_, "show the run on a page in the browser while it trains");
    verb_.option("--port", port_, "the page's port on 127.0.0.1 (0: one that is free)")
        .within(0, 65535)
        .shows_default();
    verb_.flag("--allow-stop", allow_stop_, "the run may be stopped from the page");
    price_.declare(verb_);
    alert_.declare(verb_);
    verb_.flag("--no-remember", store_.forgets,
               "do not keep the run in the store of runs (also APLOMB_STORE=off; aplomb history)");
    verb_
        .option("--store", store_.place,
                "another store of runs: a file, or postgresql://HOST/DATABASE of a team")
        .value_name("PLACE");
    verb_.flag("--quiet,-q", quiet_,
               "say nothing on the terminal; log and report are written all the same");
    verb_.footer(
        "Examples:\n"
        "  aplomb run -- python train.py --lr 2e-5\n"
        "  aplomb run --guard -- python train.py\n"
        "  aplomb run --deterministic --seed 7 -- python train.py\n"
        "  aplomb run --live --allow-stop -- python train.py\n"
        "  aplomb run --stop-on failed --stop-on hang -- torchrun --nproc-per-node 8 train.py\n"
        "\n"
        "The program's output passes through unchanged, its exit status is that of this command, "
        "and\n"
        "signals reach it. Python programs get PYTHONUNBUFFERED=1 unless it is set.");
  }

  int run() override {
    options_.command = words_behind_dashes();
    if (options_.command.empty()) options_.command = words_;
    auto alarms = alert_.make();
    const auto price = price_.make();
    if (!alarms || !price) {
      complain(core::sanitize(alarms ? price.error().text : alarms.error().text));
      return k_exit_usage;
    }
    alarms_ = *std::move(alarms);
    const core::Result<std::string> folder = make_folder(folder_);
    // Without a place for the log the program runs all the same.
    options_.folder = folder ? *folder : std::string();
    options_.tell = [this](std::string_view line) { tell(line); };
    if (!folder) tell(folder.error().text + ": neither log nor report is kept");
    if (alarms_) watch_for_alarms(folder ? *folder : options_.command.front());
    if (alarms_ && folder)
      alarms_->explain_with([path = *folder](alarm::Notice& notice) { explain(path, notice); });
    set_limits();
    ::setenv("PYTHONUNBUFFERED", "1", 0);
    if (folder) attach(*folder);
    watch::RunNote note = watch::new_note();
    if (folder) {
      if (const auto done = watch::write_note(*folder, note); !done) tell(done.error().text);
      if (!store_.forgets) {
        take_in_lost_runs(store_.place);
        under_way_ = note_under_way(wrapped_run(*folder, note), note);
      }
      if (live_) start_page(*folder);
    }
    const core::Result<watch::Ended> ended = watch::run_wrapped(options_);
    if (folder) {
      note.ended = static_cast<double>(std::time(nullptr));
      note.status = ended ? ended->status : k_exit_no_program << 8;
      note.stopped = ended && ended->stopped;
      if (const auto done = watch::write_note(*folder, note); !done) tell(done.error().text);
    }
    if (!ended) {
      forget_under_way(under_way_);
      return not_started(ended.error());
    }
    if (folder) report(*folder, *ended, note);
    forget_under_way(under_way_);
    if (alarms_) {
      tell_end(*ended);
      alarms_->finish(k_alarm_patience);
    }
    return end_like(ended->status);
  }

 private:
  void set_limits() {
    options_.hang_after = std::chrono::seconds(hang_after_);
    options_.grace = std::chrono::seconds(grace_);
    for (const std::string& each : stop_on_) {
      if (each == "hang") options_.stop_on_hang = true;
      if (each == "failed" && !options_.stop_on) options_.stop_on = core::Severity::failed;
      if (each == "unstable") options_.stop_on = core::Severity::unstable;
    }
  }

  void attach(const std::string& folder) {
    if (deterministic_) attachment_.seed = static_cast<std::uint32_t>(seed_);
    if (record_ || guard_)
      attachment_.steps = guard_ ? watch::Attach::guard : watch::Attach::record;
    if (!attachment_.any()) return;
    const auto attached = watch::attach_python(folder, attachment_);
    if (!attached) tell(attached.error().text);
    older_ = watch::attached_records(folder);
  }

  static int not_started(const core::Error& why) {
    complain(core::sanitize(why.text));
    if (why.code == core::ErrorCode::not_found) return k_exit_no_program;
    return why.code == core::ErrorCode::not_readable ? k_exit_not_executable : k_exit_usage;
  }

  void tell(std::string_view line) const {
    if (!quiet_) complain(core::sanitize(line));
  }

  /// Where log and report are, as somebody elsewhere can use it.
  std::string place() const {
    std::error_code no_throw;
    const auto whole = std::filesystem::absolute(options_.folder, no_throw);
    return no_throw || options_.folder.empty() ? options_.folder : whole.string();
  }

  void watch_for_alarms(const std::string& run) {
    run_name_ = run;
    at_end_.standing = "insufficient-evidence";
    options_.seen = [this](const detectors::Symptom& each) {
      if (each.severity < core::Severity::unstable) return;
      alarm::Notice notice;
      notice.place = place();
      notice.run = run_name_;
      notice.standing = core::name(each.severity);
      notice.cause = each.id;  // what is seen: its cause is asked for when it is told
      notice.step = each.first_step;
      notice.text = each.summary;
      alarms_->tell(notice);
    };
    options_.hangs = [this](const std::string& what) {
      alarm::Notice notice;
      notice.what = alarm::Notice::What::hang;
      notice.run = run_name_;
      notice.place = place();
      notice.standing = "silent";
      notice.step = ++hangs_;
      notice.text = what;
      alarms_->tell(notice);
    };
  }

  void tell_end(const watch::Ended& ended) const {
    alarm::Notice notice = at_end_;
    notice.what = alarm::Notice::What::end;
    notice.run = run_name_;
    notice.place = place();
    const std::string how = WIFSIGNALED(ended.status)
                                ? fmt::format("by signal {}", WTERMSIG(ended.status))
                                : fmt::format("with status {}", WEXITSTATUS(ended.status));
    notice.text = fmt::format("The program ended {}{}. {}", how, ended.stopped ? ", stopped" : "",
                              at_end_.text);
    alarms_->tell(notice);
  }

  /// A process of its own, in a session of its own: the training waits for no viewer, and the page
  /// outlives it until everybody has seen its end.
  void start_page(const std::string& folder) const {
    std::vector<std::string> words = {"aplomb",         "live",
                                      folder,           "--of-run",
                                      "--port",         std::to_string(port_),
                                      "--silent-after", std::to_string(hang_after_)};
    if (allow_stop_) words.emplace_back("--allow-stop");
    if (!price_.word().empty()) words.insert(words.end(), {"--price-per-hour", price_.word()});
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setsid();
      ::execv("/proc/self/exe", pointers.data());
      ::_exit(k_exit_no_program);
    }
    if (pid < 0) tell("no process for the page: " + std::string(std::strerror(errno)));
  }

  void report(const std::string& folder, const watch::Ended& ended, const watch::RunNote& note) {
    try {
      std::vector<std::string> left = watch::attached_records(folder);
      std::erase_if(left, [this](const std::string& path) {
        return std::find(older_.begin(), older_.end(), path) != older_.end();
      });
      if (left.empty() && (record_ || guard_))
        tell("no optimizer step was seen: nothing was recorded");
      left.insert(left.begin(), folder + "/output.log");
      // A run that stood still and was ended so is told by what its threads waited for.
      if (ended.hung && ended.status != 0) {
        for (int i = 1; std::filesystem::exists(fmt::format("{}/hang-{}.txt", folder, i)); ++i)
          left.push_back(fmt::format("{}/hang-{}.txt", folder, i));
      }
      // Before the others: what the run itself said counts more than what its program has written.
      if (const std::string script = script_of(options_.command); !script.empty())
        left.insert(left.begin(), script);
      Report report = diagnose(left, {});
      if (!store_.forgets) remember(report, folder, note);
      at_end_.standing = name(report.verdict);
      at_end_.cause = report.causes.empty() ? std::string() : report.causes.front().id;
      at_end_.text = text_of(report, "headline");
      at_end_.fix = text_of(report, "first_action");
      report::RenderOptions how;
      int reports = 0;
      for (const char* view : {"json", "html"}) {
        const report::Renderer* renderer = report::find_renderer(view);
        if (renderer == nullptr) continue;
        const auto done =
            core::replace_file(folder + "/report." + view, renderer->render(report, how));
        if (!done) tell(done.error().text);
        reports += done ? 1 : 0;
      }
      if (quiet_) return;
      if (ended.stopped || report.verdict != Verdict::healthy) show(report);
      constexpr int k_views = 2;
      if (ended.log_is_whole && reports == k_views) {
        complain("log and report: " + folder);
      } else {
        complain(
            fmt::format("{}: {}, {}{}", folder,
                        ended.log_is_whole ? "the log is there" : "the log is not whole",
                        reports == k_views ? "the report is there" : "the report was not written",
                        store_.forgets ? "" : "; aplomb history has what was read"));
      }
    } catch (const std::exception& fault) {
      tell(std::string("no report could be made: ") + fault.what());
    }
  }

  static std::string text_of(const Report& report, const char* key) {
    const auto found = report.summary.find(key);
    const auto* text =
        found == report.summary.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
  }

  WrappedRun wrapped_run(const std::string& folder, const watch::RunNote& note) const {
    return {folder,     store_.place, script_of(options_.command), options_.command, note.started,
            note.ended, std::nullopt};
  }

  void remember(Report& report, const std::string& folder, const watch::RunNote& note) const {
    WrappedRun run = wrapped_run(folder, note);
    run.status = note.status;
    const auto kept = remember_wrapped(report, run);
    if (!kept) tell(kept.error().text + "; the run is not remembered");
  }

  /// On standard error: standard output is the program's.
  static void show(const Report& report) {
    const report::Renderer* terminal = report::find_renderer("terminal");
    if (terminal == nullptr) return;
    report::RenderOptions how;
    how.width = terminal_width();
    how.colour = is_terminal_error() && wants_colour("auto");
    how.unicode = is_utf8_locale();
    const std::string text = "\n" + terminal->render(report, how);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

  watch::WrapOptions options_;
  std::vector<std::string> words_;
  std::vector<std::string> stop_on_;
  std::string folder_;
  std::string under_way_;           ///< the note that says so
  std::vector<std::string> older_;  ///< records that the folder held before
  watch::Attachment attachment_;
  std::int64_t seed_ = 42;
  bool deterministic_ = false;
  bool record_ = false;
  bool guard_ = false;
  int hang_after_ = 300;
  int grace_ = 30;
  AlertOption alert_;
  PriceOption price_;
  std::unique_ptr<alarm::Alarms> alarms_;
  std::string run_name_;
  int hangs_ = 0;
  alarm::Notice at_end_;  ///< what the report says
  bool live_ = false;
  bool allow_stop_ = false;
  int port_ = 0;
  struct {
    bool forgets = false;
    std::string place;
  } store_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace aplomb::cli

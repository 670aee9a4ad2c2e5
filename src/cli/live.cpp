#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "cli/alert_option.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/price_option.h"
#include "core/text.h"
#include "live/event_log.h"
#include "serve/live_server.h"
#include "serve/still_page.h"
#include "watch/run_note.h"

namespace aplomb::cli {
namespace {

/// A page that was opened late, or reloads, finds the run's end still.
constexpr std::chrono::seconds k_linger{30};
/// How long the last alarm may take.
constexpr std::chrono::seconds k_alarm_patience{10};
/// However long somebody looks: no process stays for ever that nobody started by hand.
constexpr std::chrono::hours k_longest{12};

class LiveCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("live", "Show runs on a page in the browser while they train");
    verb_
        .option("PATH", options_.follow.paths,
                "logs, event files or folders of runs; new ones below a folder are taken up")
        .required();
    verb_.option("--port", options_.port, "the page's port on 127.0.0.1 (0: one that is free)")
        .within(0, 65535)
        .shows_default();
    verb_.option("--socket", options_.socket, "listen on a Unix socket instead of a port")
        .value_name("PATH");
    verb_.flag("--allow-stop", options_.follow.may_stop,
               "runs that `aplomb run` has started may be stopped from the page");
    verb_
        .option(
            "--silent-after", silent_after_,
            "seconds without a sign of life after which a run that trained is said to stand still")
        .within(1, 1000000)
        .shows_default();
    price_.declare(verb_);
    verb_.flag(
        "--in-frame", options_.in_frame,
        "pages of this machine (a notebook) may show the page in a frame; not with --allow-stop");
    alert_.declare(verb_);
    verb_
        .option("--save", save_,
                "write the page of the run as it stands, to be opened from a file, and end")
        .value_name("FILE");
    verb_.flag("--of-run", of_run_, "end when the runs have ended and nobody looks").group("");
    verb_.footer(
        "Examples:\n"
        "  aplomb live out/\n"
        "  aplomb live --port 8080 runs/ slurm-4711.out\n"
        "  aplomb live --save run-7.html out/run-7\n"
        "\n"
        "The page is for this machine alone: open the address that is printed. From another one:\n"
        "ssh -L 8080:localhost:8080 HOST, and the same address there. It ends with Ctrl-C.");
  }

  int run() override {
    for (const std::string& path : options_.follow.paths) {
      std::error_code no_throw;
      if (std::filesystem::exists(path, no_throw)) continue;
      complain("[live] " + core::sanitize(path) + ": there is no such file or folder");
      return k_exit_usage;
    }
    never_write(options_.follow.paths);
    if (options_.in_frame && options_.follow.may_stop) {
      complain("[live] a page in a frame stops no runs: --in-frame or --allow-stop, not both");
      return k_exit_usage;
    }
    auto price = price_.make();
    if (!price) {
      complain(core::sanitize(price.error().text));
      return k_exit_usage;
    }
    options_.follow.price = *std::move(price);
    options_.follow.silent_after = std::chrono::seconds(silent_after_);
    if (!save_.empty()) return save();
    auto alarms = alert_.make();
    if (!alarms) {
      complain(core::sanitize(alarms.error().text));
      return k_exit_usage;
    }
    alarms_ = *std::move(alarms);
    sigset_t set;
    ::sigemptyset(&set);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, each);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before the threads are there
    serve::LiveServer server(options_);
    if (const auto started = server.start(); !started) {
      complain(core::sanitize(started.error().text) +
               (options_.socket.empty() ? "; name another with --port" : ""));
      return k_exit_usage;
    }
    tell(server);
    if (of_run_) {
      wait_for_runs(server, set);
    } else {
      const timespec second{1, 0};
      while (::sigtimedwait(&set, nullptr, &second) < 0) {
        if (alarms_) look_for_alarms(server.follower());
      }
    }
    server.stop();
    if (alarms_) alarms_->finish(k_alarm_patience);
    return k_exit_healthy;
  }

 private:
  int save() const {
    live::EventLog nobody;
    live::Follower follower(options_.follow, nobody);
    follower.settle();
    const auto runs = follower.glances();
    if (runs.size() != 1) {
      complain(runs.empty() ? "[live] no run was found"
                            : fmt::format("[live] there are {} runs: name one, such as {}",
                                          runs.size(), core::sanitize(runs.front().path)));
      return k_exit_usage;
    }
    const auto page = serve::still_page(follower, runs.front().id);
    const auto done =
        page ? write_file(save_, *page) : core::Result<void>(tl::unexpected(page.error()));
    if (done) return k_exit_healthy;
    complain(core::sanitize(done.error().text));
    return k_exit_usage;
  }

  /// Of runs that were seen to train: what ended before is no news.
  void look_for_alarms(const live::Follower& follower) {
    for (const live::Glance& each : follower.glances()) {
      const bool trains = each.state == "running" || each.state == "silent";
      if (trains) seen_.insert(each.id);
      if (!seen_.contains(each.id)) continue;
      alarm::Notice notice;
      notice.run = each.name;
      notice.standing = each.standing;
      notice.cause = each.cause;
      notice.step = each.step;
      notice.text = each.headline;
      notice.fix = each.fix;
      std::error_code no_throw;
      notice.place = std::filesystem::absolute(each.path, no_throw).lexically_normal().string();
      const bool is_bad = each.standing == "unstable" || each.standing == "failed";
      if (trains && is_bad) alarms_->tell(notice);
      if (each.state == "silent") {
        notice.what = alarm::Notice::What::hang;
        notice.text = "Nothing was written for longer than its records are apart. " + each.headline;
        alarms_->tell(notice);
      } else if (!trains && each.state != "unknown") {
        notice.what = alarm::Notice::What::end;
        notice.text = "The run is over (" + each.state + "). " + each.headline;
        alarms_->tell(notice);
      }
    }
  }

  void tell(const serve::LiveServer& server) const {
    if (!serve::LiveServer::has_page()) {
      complain(
          "this program was built without its page (web/check.sh build makes it, with Node); what "
          "it would show is at /api/runs");
    }
    if (of_run_) {
      complain("the page of the run: " + server.address());
      return;
    }
    std::string text = fmt::format("The page: {}\n", server.address());
    if (!options_.socket.empty()) text += fmt::format("over the socket {}\n", options_.socket);
    (void)write_out(text);
  }

  /// `aplomb run` has noted the end of the run, or is no more.
  bool is_over() const {
    const auto note = watch::read_note(options_.follow.paths.front());
    return !note || note->ended > 0 || !watch::is_alive(*note);
  }

  void wait_for_runs(const serve::LiveServer& server, const sigset_t& set) const {
    // Whoever waits for the end of our output must not wait for us.
    if (std::FILE* nowhere = std::fopen("/dev/null", "r+"); nowhere != nullptr) {
      for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(::fileno(nowhere), each);
      std::fclose(nowhere);
    }
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto last_use = begin;
    while (Clock::now() - begin < k_longest) {
      const timespec second{1, 0};
      if (::sigtimedwait(&set, nullptr, &second) > 0) return;
      const auto now = Clock::now();
      if (server.viewers() > 0 || !is_over()) last_use = now;
      if (now - last_use > k_linger) return;
    }
  }

  serve::LiveOptions options_;
  bool of_run_ = false;
  std::string save_;
  AlertOption alert_;
  PriceOption price_;
  int silent_after_ = 300;
  std::unique_ptr<alarm::Alarms> alarms_;
  std::set<std::string> seen_;  ///< ids of runs that trained while we looked
};

}  // namespace

std::unique_ptr<Command> make_live_command() { return std::make_unique<LiveCommand>(); }

}  // namespace aplomb::cli

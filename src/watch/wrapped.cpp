#include "watch/wrapped.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>

#include "core/new_file.h"
#include "core/text.h"
#include "watch/child.h"
#include "watch/live_run.h"
#include "watch/process_tree.h"
#include "watch/relay.h"
#include "watch/run_note.h"

namespace aplomb::watch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_tick_ms = 200;
constexpr int k_most_captures = 3;
/// What is left in a pipe after the program's end is read; a process that it left behind may hold
/// the other end for ever.
constexpr std::chrono::milliseconds k_drain{500};
/// What SIGKILL does not end waits in the kernel.
constexpr std::chrono::seconds k_after_kill{5};

constexpr std::array k_passed_on{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : k_passed_on) ::sigaddset(&set, each);
  ::sigaddset(&set, SIGCHLD);
  ::sigaddset(&set, SIGWINCH);
  return set;
}

/// Blocks the watched signals, and gives them back as they were.
class SignalGate {
 public:
  SignalGate() : handle_(-1) {
    const sigset_t set = watched_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    handle_ = Handle(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalGate() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  int number() const { return handle_.get(); }
  bool next(signalfd_siginfo& signal) const {
    return ::read(handle_.get(), &signal, sizeof signal) == sizeof signal;
  }

 private:
  sigset_t before_{};
  Handle handle_;
};

/// All of it; false where nobody reads any more.
bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(to, bytes.data(), bytes.size());
    if (size > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd look{to, POLLOUT, 0};
      ::poll(&look, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/// -1 where there is none. A link under its name is replaced: what it leads to is not the run's.
int open_log(const std::string& folder) {
  if (folder.empty()) {
    errno = 0;
    return -1;
  }
  const std::string path = folder + "/output.log";
  constexpr int k_how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  const int log = ::open(path.c_str(), k_how, 0644);
  if (log >= 0 || errno != ELOOP || ::unlink(path.c_str()) != 0) return log;
  return ::open(path.c_str(), k_how | O_EXCL, 0644);
}

class Wrapped {
 public:
  /// `strangers`: what descended from this process before it started the program (a shell that was
  /// replaced by it may have had others).
  Wrapped(const WrapOptions& options, Child child, const SignalGate& gate,
          std::vector<pid_t> strangers)
      : options_(options),
        strangers_(std::move(strangers)),
        child_(std::move(child)),
        gate_(gate),
        live_(core::Severity::unstable),
        log_(open_log(options.folder)),
        relay_(child_, log_.get()) {
    result_.log_is_whole = static_cast<bool>(log_);
    if (!log_ && !options.folder.empty()) tell_log_fault();
    // Fewer and longer reads and writes; refused (a terminal, a limit), the pipes stay as they are.
    for (const int pipe : {child_.out.get(), child_.error.get(), STDOUT_FILENO, STDERR_FILENO}) {
      if (::fcntl(pipe, F_GETPIPE_SZ) < k_pipe_bytes) ::fcntl(pipe, F_SETPIPE_SZ, k_pipe_bytes);
    }
  }

  Ended run() {
    while (!ended_ || !drained() || someone_is_left()) {
      wait();
      take_signals();
      if (kill_at_ && Clock::now() >= *kill_at_) end_tree(SIGKILL);
      if (ended_) continue;
      if (!line_goes_on()) judge();
      look_for_hang();
    }
    live_.finish();
    judge();
    if (const std::string why = live_.gave_up(); !why.empty())
      options_.tell("the output was not read to its end while it came: " + why);
    if (const std::uint64_t bytes = live_.left_out_bytes(); bytes > 0) {
      options_.tell(
          fmt::format("{} came faster than they can be read, and were passed on and logged "
                      "only; the report reads the whole log",
                      core::show_bytes(static_cast<double>(bytes))));
    }
    return result_;
  }

 private:
  void wait() {
    std::array<pollfd, 3> look{pollfd{gate_.number(), POLLIN, 0},
                               pollfd{child_.out.get(), POLLIN, 0},
                               pollfd{child_.error.get(), POLLIN, 0}};
    if (::poll(look.data(), look.size(), ended_ ? 10 : k_tick_ms) <= 0) return;
    if (look[1].revents != 0) pass_on(child_.out, STDOUT_FILENO);
    if (look[2].revents != 0) pass_on(child_.error, STDERR_FILENO);
  }

  void pass_on(Handle& from, int to) {
    // From pipe to pipe nothing is copied: what has been passed on so is still there to be read.
    ssize_t passed = ::tee(from.get(), to, part_.size(), 0);
    if (passed < 0 && errno == EINTR) return;
    do {
      const std::size_t most = passed > 0 ? static_cast<std::size_t>(passed) : part_.size();
      const ssize_t size = ::read(from.get(), part_.data(), most);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return from.close();  // the end; EIO of a pseudo-terminal
      take({part_.data(), static_cast<std::size_t>(size)});
      // As without us: who writes where nobody reads is told so.
      if (passed <= 0 && !write_all(to, {part_.data(), static_cast<std::size_t>(size)})) {
        relay_.dismiss();
        return from.close();
      }
      passed -= size;
    } while (passed > 0);
  }

  void take(std::string_view bytes) {
    last_output_ = Clock::now();
    captured_ = false;
    mid_line_ = bytes.back() != '\n' && bytes.back() != '\r';
    if (log_ && !write_all(log_.get(), bytes)) tell_log_fault();
    live_.feed(bytes);
  }

  void tell_log_fault() {
    options_.tell(fmt::format("{}/output.log cannot be written ({}); the program runs on",
                              options_.folder, std::strerror(errno)));
    result_.log_is_whole = false;
    log_.close();
  }

  void take_signals() {
    signalfd_siginfo signal{};
    while (gate_.next(signal)) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGCHLD) {
        reap();
      } else if (number == SIGWINCH) {
        pass_on_window_size(child_);
      } else if (number == SIGTERM && signal.ssi_code == SI_QUEUE &&
                 signal.ssi_int == k_stop_word) {
        stop("as its page asks");
      } else if (signal.ssi_code != SI_KERNEL && !ended_) {
        told_to_end_ = told_to_end_ || number == SIGTERM;
        ::kill(child_.pid, number);  // the terminal's own reach the whole group without us
      }
    }
  }

  void reap() {
    int status = 0;
    if (ended_ || ::waitpid(child_.pid, &status, WNOHANG) != child_.pid) return;
    ended_ = true;
    result_.status = status;
    drain_until_ = Clock::now() + k_drain;
    // The program had its time to save and has used it; who it leaves behind would hold the cards.
    if (!told_to_end_ || kill_at_) return;
    end_tree(SIGTERM);
    kill_at_ = Clock::now() + options_.grace;
  }

  bool drained() const { return (!child_.out && !child_.error) || Clock::now() >= drain_until_; }

  /// Where a line is written in parts (print() of an unbuffered Python) what we say waits for its end: on a terminal
  /// it would stand in the middle of it.
  bool line_goes_on() const {
    constexpr std::chrono::milliseconds k_patience{200};  // a prompt or a progress bar has no end
    return mid_line_ && Clock::now() - last_output_ < k_patience;
  }

  void judge() {
    for (const detectors::Symptom& each : live_.fresh()) {
      const bool good = each.severity <= core::Severity::note;
      options_.tell(good ? each.summary : fmt::format("{}: {}", name(each.severity), each.summary));
      if (options_.seen && !good) options_.seen(each);
      if (options_.stop_on && each.severity >= *options_.stop_on)
        stop("at this, as --stop-on asks");
    }
  }

  void look_for_hang() {
    if (capture_.valid()) return tell_capture();
    const auto pace = live_.pace();
    if (!pace || captured_ || captures_ >= k_most_captures || kill_at_) return;
    const std::chrono::duration<double> silent = Clock::now() - last_output_;
    const auto least = std::max<std::chrono::duration<double>>(options_.hang_after,
                                                               options_.hang_factor * pace->median);
    if (silent < least) return;
    captured_ = true;
    result_.hung = true;
    capture_said_ = fmt::format("no output for {:.0f} s, where a record came every {:.3g} s",
                                silent.count(), pace->median.count());
    capture_path_ = fmt::format("{}/hang-{}.txt", options_.folder, ++captures_);
    // In a thread of its own: output has to be passed on, should the program wake up meanwhile.
    capture_ = std::async(std::launch::async, [pid = child_.pid] { return hang_evidence(pid); });
  }

  void tell_capture() {
    if (capture_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    const std::string seen = "the run hangs: " + capture_said_ + "\n\n" + capture_.get();
    const auto kept = options_.folder.empty()
                          ? core::fail(core::ErrorCode::not_writable, "there is no folder for it")
                          : core::replace_file(capture_path_, seen);
    options_.tell(
        fmt::format("it seems to hang: {}; {}", capture_said_,
                    kept ? "what every thread waits for is in " + capture_path_
                         : "what every thread waits for was not kept: " + kept.error().text));
    if (options_.hangs) options_.hangs(capture_said_);
    if (options_.stop_on_hang) stop("as it hangs and --stop-on asks");
  }

  void stop(const char* why) {
    if (ended_ || kill_at_) return;
    result_.stopped = true;
    options_.tell(fmt::format("the program is stopped {} (SIGTERM, in {} s SIGKILL)", why,
                              options_.grace.count()));
    end_tree(SIGTERM);
    kill_at_ = Clock::now() + options_.grace;
  }

  /// All that descends from the program, also what has left its tree: orphans come to us.
  std::vector<pid_t> whole_tree() const {
    std::vector<pid_t> all = process_tree(::getpid());
    const auto stays = [&](pid_t pid) {
      return pid == relay_.pid() ||
             std::find(strangers_.begin(), strangers_.end(), pid) != strangers_.end();
    };
    all.erase(std::remove_if(all.begin(), all.end(), stays), all.end());
    return all;
  }

  void end_tree(int signal) const {
    for (const pid_t pid : whole_tree()) ::kill(pid, signal);
  }

  /// Of a program that we stop nobody stays: neither who ignores SIGTERM, nor who left the tree.
  bool someone_is_left() const {
    if (!kill_at_ || Clock::now() >= *kill_at_ + k_after_kill) return false;
    bool any = false;
    for (const pid_t pid : whole_tree()) {
      // Orphans that have ended wait for us; the tools of a capture for their own thread.
      const bool is_gone =
          pid != child_.pid && !capture_.valid() && ::waitpid(pid, nullptr, WNOHANG) == pid;
      any = any || !is_gone;
    }
    return any;
  }

  static constexpr int k_pipe_bytes = 1 << 20;
  std::vector<char> part_ = std::vector<char>(k_pipe_bytes);

  const WrapOptions& options_;
  std::vector<pid_t> strangers_;  ///< and this process
  Child child_;
  const SignalGate& gate_;
  LiveRun live_;
  Handle log_;
  Relay relay_;
  Ended result_;
  bool ended_ = false;
  bool told_to_end_ = false;  ///< by SIGTERM: docker stop, timeout, a scheduler
  bool mid_line_ = false;     ///< what came last was no end of a line
  bool captured_ = false;     ///< since the last output
  int captures_ = 0;
  std::future<std::string> capture_;
  std::string capture_said_;
  std::string capture_path_;
  Clock::time_point last_output_ = Clock::now();
  Clock::time_point drain_until_{};
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace

core::Result<Ended> run_wrapped(const WrapOptions& options) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // orphans of the program stay below us
  const SignalGate gate;
  std::vector<pid_t> strangers = process_tree(::getpid());
  core::Result<Child> child = start_child(options.command);
  if (!child) return tl::unexpected(child.error());
  return Wrapped(options, std::move(*child), gate, std::move(strangers)).run();
}

}  // namespace aplomb::watch

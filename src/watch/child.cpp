#include "watch/child.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace aplomb::watch {

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.number_;
    other.number_ = -1;
  }
  return *this;
}

void Handle::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

namespace {

struct Ends {
  Handle ours = Handle();
  Handle childs = Handle();
};

core::Result<Ends> fault(const char* what) {
  return core::fail(core::ErrorCode::internal,
                    std::string("[run] ") + what + ": " + std::strerror(errno));
}

core::Result<Ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fault("no pipe");
  return Ends{Handle(ends[0]), Handle(ends[1])};
}

/// A pseudo-terminal of our terminal's size that passes bytes on as they are.
core::Result<Ends> make_terminal(int like) {
  int ours = -1;
  int childs = -1;
  if (::openpty(&ours, &childs, nullptr, nullptr, nullptr) != 0) return fault("no pseudo-terminal");
  Ends ends{Handle(ours), Handle(childs)};
  ::fcntl(ours, F_SETFD, FD_CLOEXEC);
  ::fcntl(childs, F_SETFD, FD_CLOEXEC);
  termios how{};
  if (::tcgetattr(childs, &how) == 0) {
    how.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // our own terminal makes \r\n of \n
    ::tcsetattr(childs, TCSANOW, &how);
  }
  winsize size{};
  if (::ioctl(like, TIOCGWINSZ, &size) == 0) ::ioctl(ours, TIOCSWINSZ, &size);
  return ends;
}

core::Result<Ends> make_ends(int like) {
  return ::isatty(like) != 0 ? make_terminal(like) : make_pipe();
}

/// In the child: from here on only what is safe between fork and exec.
[[noreturn]] void become(char* const* words, int out, int error, int tell) {
  ::dup2(out, STDOUT_FILENO);
  ::dup2(error, STDERR_FILENO);
  // aplomb itself ignores it; what else was ignored (by nohup, say) stays so.
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(words[0], words);
  const int why = errno;
  (void)!::write(tell, &why, sizeof why);
  ::_exit(127);
}

core::Error why_not(const std::string& program, int number) {
  const std::string text = "[run] " + program + ": " + std::strerror(number);
  if (number == ENOENT) return {core::ErrorCode::not_found, text};
  return {number == EACCES || number == ENOEXEC ? core::ErrorCode::not_readable
                                                : core::ErrorCode::internal,
          text};
}

}  // namespace

core::Result<Child> start_child(const std::vector<std::string>& command) {
  const bool one_terminal = ::isatty(STDOUT_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  core::Result<Ends> out = make_ends(STDOUT_FILENO);
  if (!out) return tl::unexpected(out.error());
  core::Result<Ends> error = one_terminal ? core::Result<Ends>(Ends{}) : make_ends(STDERR_FILENO);
  core::Result<Ends> told = make_pipe();
  if (!error) return tl::unexpected(error.error());
  if (!told) return tl::unexpected(told.error());

  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int childs_error = one_terminal ? out->childs.get() : error->childs.get();
  const pid_t pid = ::fork();
  if (pid < 0)
    return core::fail(core::ErrorCode::internal,
                      std::string("[run] no process: ") + std::strerror(errno));
  if (pid == 0) become(words.data(), out->childs.get(), childs_error, told->childs.get());

  told->childs.close();
  int why = 0;
  ssize_t size = 0;
  while ((size = ::read(told->ours.get(), &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (size == sizeof why) {
    ::waitpid(pid, nullptr, 0);
    return tl::unexpected(why_not(command[0], why));
  }
  return Child{pid, std::move(out->ours), std::move(error->ours)};
}

void pass_on_window_size(const Child& child) {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    ::ioctl(child.out.get(), TIOCSWINSZ, &size);
  if (child.error && ::isatty(STDERR_FILENO) != 0 && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
    ::ioctl(child.error.get(), TIOCSWINSZ, &size);
}

}  // namespace aplomb::watch

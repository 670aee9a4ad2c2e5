#include "watch/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace aplomb::watch {
namespace {

void write_on(int to, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t done = ::write(to, bytes, static_cast<std::size_t>(size));
    if (done < 0 && errno == EAGAIN) {
      pollfd look{to, POLLOUT, 0};
      ::poll(&look, 1, -1);
    } else if (done < 0 && errno != EINTR) {
      return;  // the log is enough, or nobody reads
    }
    if (done > 0) {
      bytes += done;
      size -= done;
    }
  }
}

/// What there is to read at one end; closes it where that has ended.
void take_over(pollfd& from, int to, int log) {
  std::array<char, 65536> part;
  if (from.fd < 0 || from.revents == 0) return;
  const ssize_t size = ::read(from.fd, part.data(), part.size());
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) {
    from.fd = -1;
    return;
  }
  if (log >= 0) write_on(log, part.data(), size);
  write_on(to, part.data(), size);
}

/// In the relay: from here on only what is safe after fork.
[[noreturn]] void keep(int alive, int out, int error, int log) {
  ::setsid();  // Ctrl-C is for the program
  ::prctl(PR_SET_NAME, "aplomb-relay");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(number, SIG_IGN);
  char word = 0;
  ssize_t size = 0;
  while ((size = ::read(alive, &word, 1)) < 0 && errno == EINTR) {
  }
  if (size > 0) ::_exit(0);
  std::array<pollfd, 2> from{pollfd{out, POLLIN, 0}, pollfd{error, POLLIN, 0}};
  while (from[0].fd >= 0 || from[1].fd >= 0) {
    if (::poll(from.data(), from.size(), -1) < 0 && errno != EINTR) break;
    take_over(from[0], STDOUT_FILENO, log);
    take_over(from[1], STDERR_FILENO, log);
  }
  ::_exit(0);
}

}  // namespace

Relay::Relay(const Child& child, int log) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Handle theirs(ends[0]);
  alive_ = Handle(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  alive_.close();
  keep(theirs.get(), child.out.get(), child.error.get(), log);
}

Relay::~Relay() { dismiss(); }

void Relay::dismiss() {
  if (pid_ <= 0) return;
  (void)!::write(alive_.get(), "x", 1);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace aplomb::watch

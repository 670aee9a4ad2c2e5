#include "preflight/run_python.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace aplomb {
namespace {

/// Closed with the object.
struct Descriptor {
  int value = -1;
  Descriptor() = default;
  explicit Descriptor(int opened) : value(opened) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void close() {
    if (value >= 0) ::close(value);
    value = -1;
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t actions{};
  SpawnActions() { ::posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

/// False where the other end is gone. A socket, unlike a pipe, can be told not to raise a signal.
bool send_all(int socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t part = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    sent += static_cast<std::size_t>(part);
  }
  return ::shutdown(socket, SHUT_WR) == 0;
}

/// What comes until the other end closes; false where that takes too long.
bool receive_all(int socket, std::chrono::steady_clock::time_point end, std::string& text) {
  std::array<char, 65536> part{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{socket, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t size = ::recv(socket, part.data(), part.size(), 0);
    if (size == 0) return true;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<std::string> run_python(const std::string& python, const std::string& program,
                               const std::string& input, std::chrono::seconds limit) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(ErrorCode::internal, std::string("[python] no socket: ") + std::strerror(errno));
  Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  SpawnActions spawn;
  ::posix_spawn_file_actions_adddup2(&spawn.actions, theirs.value, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&spawn.actions, theirs.value, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&spawn.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = python;
  std::string isolated = "-I";
  std::string command = "-c";
  std::string text = program;
  std::array<char*, 5> arguments = {name.data(), isolated.data(), command.data(), text.data(),
                                    nullptr};
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, python.c_str(), &spawn.actions, nullptr, arguments.data(), environ);
  if (failed != 0)
    return fail(ErrorCode::not_found,
                "[python] cannot start " + python + ": " + std::strerror(failed));
  theirs.close();
  std::string output;
  const bool whole = send_all(ours.value, input) &&
                     receive_all(ours.value, std::chrono::steady_clock::now() + limit, output);
  if (!whole) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && output.empty())
    return fail(ErrorCode::not_found, "[python] " + python + " was not found");
  if (!whole || output.empty())
    return fail(ErrorCode::internal, "[python] " + python + " gave no answer");
  return output;
}

}  // namespace aplomb

#include "alarm/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

extern char** environ;

namespace aplomb::alarm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int k_no_program = 127;

/// Both ends of a pipe, closed with the object.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
};

/// In the child: from here on only what is safe between fork and exec.
[[noreturn]] void become(char* const* words, char* const* environment, int input, int output) {
  ::setpgid(0, 0);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(words[0], words, environment);
  ::_exit(k_no_program);
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void give(Pipe& in, std::string_view& input) {
  const ssize_t size = ::write(in.ends[1], input.data(), input.size());
  if (size > 0) input.remove_prefix(static_cast<std::size_t>(size));
  if (size < 0 && errno != EAGAIN && errno != EINTR) input = {};
}

void take(Pipe& out, std::size_t most, Ran& ran) {
  std::array<char, 4096> part{};
  const ssize_t size = ::read(out.ends[0], part.data(), part.size());
  if (size == 0 || (size < 0 && errno != EINTR)) out.close(0);
  if (size > 0 && ran.output.size() < most)
    ran.output.append(part.data(), static_cast<std::size_t>(size));
}

/// Gives the input and takes the output until both are closed or the time is over.
void exchange(Pipe& in, Pipe& out, std::string_view input, Clock::time_point until,
              std::size_t most, Ran& ran) {
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  while (out.ends[0] >= 0) {
    if (input.empty()) in.close(1);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    std::array<pollfd, 2> look{pollfd{out.ends[0], POLLIN, 0}, pollfd{in.ends[1], POLLOUT, 0}};
    if (left.count() <= 0) return;
    const int ready = ::poll(look.data(), look.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    if (look[1].revents != 0) give(in, input);
    if (look[0].revents != 0) take(out, most, ran);
  }
}

}  // namespace

core::Result<Ran> run_program(const std::vector<std::string>& words, const std::string& input,
                              std::chrono::milliseconds limit,
                              const std::vector<std::pair<std::string, std::string>>& extra,
                              std::size_t most_output) {
  const auto until = Clock::now() + limit;
  Pipe in;
  Pipe out;
  if (!in.open() || !out.open())
    return core::fail(core::ErrorCode::internal,
                      std::string("[alert] no pipe: ") + std::strerror(errno));
  std::vector<std::string> texts = words;
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    variables.emplace_back(*each);
  for (const auto& [name, value] : extra) variables.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> arguments = pointers_of(texts);
  const std::vector<char*> environment = pointers_of(variables);
  const pid_t pid = ::fork();
  if (pid < 0)
    return core::fail(core::ErrorCode::internal,
                      std::string("[alert] no process: ") + std::strerror(errno));
  if (pid == 0) become(arguments.data(), environment.data(), in.ends[0], out.ends[1]);
  in.close(0);
  out.close(1);
  Ran ran;
  exchange(in, out, input, until, most_output, ran);
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &ran.status, WNOHANG)) == 0 && Clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (ended == 0) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, &ran.status, 0);
    return core::fail(core::ErrorCode::not_readable,
                      fmt::format("[alert] {} did not end within {} s", words[0],
                                  std::chrono::duration<double>(limit).count()));
  }
  if (WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == k_no_program && ran.output.empty())
    return core::fail(core::ErrorCode::not_found, "[alert] there is no program " + words[0]);
  return ran;
}

}  // namespace aplomb::alarm

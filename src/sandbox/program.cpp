#include "sandbox/program.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string_view>

#include "sandbox/policy.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace aplomb::sandbox {
namespace {

ProgramStarter* g_starter = nullptr;  // set once, before other threads are there

bool is_passed_on(std::string_view setting) {
  constexpr std::array<std::string_view, 9> k_names = {
      "PATH=",        "HOME=", "LANG=",  "TMPDIR=",         "LD_LIBRARY_PATH=",
      "VIRTUAL_ENV=", "TZ=",   "SHELL=", "OMP_NUM_THREADS="};
  return setting.starts_with("LC_") || std::any_of(k_names.begin(), k_names.end(), [&](auto each) {
           return setting.starts_with(each);
         });
}

/// A shim (a script, as version managers have them) starts further programs: it gets its limits and
/// its network, but not the policy.
bool is_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> head{};
  return file.read(head.data(), head.size()) && std::string_view(head.data(), 2) == "#!";
}

void limit(int what, std::uint64_t to) {
  if (to == 0) return;
  const rlimit bound{to, to};
  ::setrlimit(static_cast<__rlimit_resource>(what), &bound);
}

struct Prepared {
  std::vector<char*> words;
  std::vector<char*> environment;
  const Policy* policy = nullptr;
  const Command* command = nullptr;
  int socket = -1;
  int told = -1;
  pid_t starter = -1;
};

/// In the child: from here on only what is safe between fork and exec.
[[noreturn]] void become(const Prepared& how) {
  int why = 0;
  // An end of this process that leaves the program behind is no end.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != how.starter) ::_exit(127);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(how.socket, STDIN_FILENO);
  ::dup2(how.socket, STDOUT_FILENO);
  if (null >= 0) ::dup2(null, STDERR_FILENO);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGBUS})
    std::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit nothing{0, 0};
  ::setrlimit(RLIMIT_CORE, &nothing);
  ::setrlimit(RLIMIT_FSIZE, &nothing);
  limit(RLIMIT_AS, how.command->most_memory_bytes);
  limit(RLIMIT_CPU, how.command->most_cpu_s);
  // A user namespace allows it to who may not do it outright; where neither may, the filter stays.
  if (::unshare(CLONE_NEWNET) != 0) (void)::unshare(CLONE_NEWUSER | CLONE_NEWNET);
  if (how.policy != nullptr) (void)how.policy->apply();
  ::execve(how.words[0], how.words.data(), how.environment.data());
  why = errno;
  (void)!::write(how.told, &why, sizeof why);
  ::_exit(127);
}

core::Error fault(const std::string& program, int number) {
  const bool missing = number == ENOENT || number == EACCES || number == ENOEXEC;
  return {
      missing ? core::ErrorCode::not_found : core::ErrorCode::internal,
      "cannot start " + program + ": " + std::strerror(number)};  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

void start_programs_through(ProgramStarter* starter) { g_starter = starter; }

core::Result<Started> start_program(const Command& command, int socket) {
  if (g_starter != nullptr) return g_starter->start(command, socket);
  std::array<int, 2> told{-1, -1};
  if (::pipe2(told.data(), O_CLOEXEC) != 0) return tl::unexpected(fault(command.words[0], errno));
  Prepared how;
  for (const std::string& word : command.words)
    how.words.push_back(const_cast<char*>(word.c_str()));
  how.words.push_back(nullptr);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (is_passed_on(*each)) how.environment.push_back(*each);
  }
  how.environment.push_back(nullptr);
  const Policy policy = Policy::of_program(command.words[0]);
  if (!is_script(command.words[0])) how.policy = &policy;
  how.command = &command;
  how.socket = socket;
  how.told = told[1];
  how.starter = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(how);
  const int no_child = errno;
  ::close(told[1]);
  int why = 0;
  ssize_t size = 0;
  while (child > 0 && (size = ::read(told[0], &why, sizeof why)) < 0 && errno == EINTR) {
  }
  ::close(told[0]);
  if (child < 0) return tl::unexpected(fault(command.words[0], no_child));
  if (size == sizeof why) {
    ::waitpid(child, nullptr, 0);
    return tl::unexpected(fault(command.words[0], why));
  }
  return Started{child};
}

int end_program(Started program, bool kill) {
  if (g_starter != nullptr) return g_starter->end(program, kill);
  if (kill) ::kill(program.id, SIGKILL);
  int status = 0;
  while (::waitpid(program.id, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace aplomb::sandbox

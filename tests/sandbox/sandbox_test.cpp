#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "core/folder.h"

namespace aplomb::sandbox {
namespace {

using test::content;
using test::Folder;

/// What a process answers that has entered the sandbox: its exit status, 0 to 250; 251: there is no
/// sandbox on this machine; 252: it ended otherwise.
constexpr int k_none_here = 251;
int inside(const Announced& may, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto sandbox = Sandbox::enter(may);
    if (!sandbox) ::_exit(k_none_here);
    const int answer = work();
    sandbox.reset();
    ::_exit(answer);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 252;
}

#define SKIP_WITHOUT_SANDBOX()                       \
  if (inside({}, [] { return 0; }) == k_none_here) { \
    GTEST_SKIP() << "this machine has no sandbox";   \
  }

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Sandbox, StartsNoProgram) {
  SKIP_WITHOUT_SANDBOX();
  EXPECT_EQ(inside({},
                   [] {
                     ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
                     return errno == EPERM || errno == EACCES ? 7 : 1;
                   }),
            7);
  EXPECT_EQ(inside({}, [] { return ::fork() < 0 && errno == EPERM ? 7 : 1; }), 7);
  EXPECT_EQ(inside({}, [] { return std::system("exit 0") != 0 ? 7 : 1; }), 7);
}

TEST(Sandbox, OpensNoConnection) {
  SKIP_WITHOUT_SANDBOX();
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    EXPECT_EQ(inside({}, [=] { return ::socket(family, SOCK_DGRAM, 0) < 0 ? 7 : 1; }), 7) << family;
  }
}

TEST(Sandbox, WritesMakesRenamesAndRemovesNothing) {
  SKIP_WITHOUT_SANDBOX();
  const Folder folder;
  put(folder / "kept", "as it was");
  const std::string kept = folder / "kept";
  const std::string other = folder / "other";
  const std::vector<std::function<bool()>> tries = {
      [&] { return ::open(kept.c_str(), O_WRONLY) >= 0; },
      [&] { return ::open(kept.c_str(), O_RDWR) >= 0; },
      [&] { return ::open(kept.c_str(), O_RDONLY | O_TRUNC) >= 0; },
      [&] { return ::open(other.c_str(), O_RDONLY | O_CREAT, 0600) >= 0; },
      [&] { return ::open((folder / "").c_str(), O_TMPFILE | O_RDWR, 0600) >= 0; },
      [&] { return ::creat(other.c_str(), 0600) >= 0; },
      [&] { return ::truncate(kept.c_str(), 0) == 0; },
      [&] { return ::rename(kept.c_str(), other.c_str()) == 0; },
      [&] { return ::link(kept.c_str(), other.c_str()) == 0; },
      [&] { return ::symlink(kept.c_str(), other.c_str()) == 0; },
      [&] { return ::unlink(kept.c_str()) == 0; },
      [&] { return ::mkdir(other.c_str(), 0700) == 0; },
      [&] { return ::mkfifo(other.c_str(), 0700) == 0; },
      [&] { return ::chmod(kept.c_str(), 0) == 0; },
      [&] { return ::chown(kept.c_str(), ::getuid(), ::getgid()) == 0; },
      [&] { return ::utimensat(AT_FDCWD, kept.c_str(), nullptr, 0) == 0; },
  };
  for (std::size_t i = 0; i < tries.size(); ++i) {
    EXPECT_EQ(inside({}, [&] { return tries[i]() ? 1 : 7; }), 7) << "try " << i;
  }
  EXPECT_EQ(content(kept), "as it was");
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(Sandbox, SignalsNobodyElse) {
  SKIP_WITHOUT_SANDBOX();
  const pid_t other = ::getpid();
  EXPECT_EQ(inside({}, [=] { return ::kill(other, 0) < 0 ? 7 : 1; }), 7);
}

TEST(Sandbox, ReadsAndHasThreads) {
  SKIP_WITHOUT_SANDBOX();
  const Folder folder;
  put(folder / "log", "loss 2.0");
  EXPECT_EQ(inside({},
                   [&] {
                     std::string seen;
                     std::thread([&] { seen = content(folder / "log"); }).join();
                     return seen == "loss 2.0" ? 7 : 1;
                   }),
            7);
}

TEST(Sandbox, WritesWhatWasAnnouncedAndNothingElse) {
  SKIP_WITHOUT_SANDBOX();
  const Folder folder;
  put(folder / "out", "before");
  const auto write = [](const std::string& path) {
    auto file = core::NewFile::beside(path);
    if (!file || !(*file)->write("after") || !(*file)->commit()) return 1;
    return 7;
  };
  const Announced may{{folder / "out", folder / "fixed"}, {}, {}};
  EXPECT_EQ(inside(may, [&] { return write(folder / "out"); }), 7);
  EXPECT_EQ(content(folder / "out"), "after");
  EXPECT_EQ(inside(may, [&] { return write(folder / "other"); }), 1);
  EXPECT_EQ(inside(may, [&] { return write(folder / "fixed/../other"); }), 1);
  EXPECT_EQ(inside(may, [&] { return write(folder / "out2"); }), 1);
  EXPECT_EQ(
      inside(
          may,
          [&] { return core::make_folder(folder / "fixed") ? write(folder / "fixed/a.yaml") : 2; }),
      7);
  EXPECT_EQ(content(folder / "fixed/a.yaml"), "after");
  // A name as people give it: through the folder above, with a stroke at its end.
  const Announced above{{folder / "fixed/../second/"}, {}, {}};
  EXPECT_EQ(inside(above,
                   [&] {
                     return core::make_folder(folder / "fixed/../second")
                                ? write(folder / "fixed/../second/a.yaml")
                                : 2;
                   }),
            7);
  EXPECT_EQ(inside(above, [&] { return write(folder / "fixed/../second/../other"); }), 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "other"));
}

/// Files of the folder, hidden ones too.
std::size_t count(const Folder& folder) {
  std::size_t found = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder / ""))
    ++found;
  return found;
}

TEST(Sandbox, WhatIsNotCommittedLeavesNothingEvenWhenTheProcessIsKilled) {
  SKIP_WITHOUT_SANDBOX();
  const Folder folder;
  put(folder / "out", "before");
  EXPECT_EQ(inside({{folder / "out"}, {}, {}},
                   [&] {
                     auto file = core::NewFile::beside(folder / "out");
                     (void)(*file)->write("half of i");
                     return ::raise(SIGKILL);
                   }),
            252);
  for (int i = 0; i < 200 && count(folder) > 1; ++i) ::usleep(10'000);
  EXPECT_EQ(count(folder), 1U);
  EXPECT_EQ(content(folder / "out"), "before");
}

TEST(Sandbox, StartsTheProgramThatWasAnnouncedAndItIsConfinedToo) {
  SKIP_WITHOUT_SANDBOX();
  const Folder folder;
  // What the shell itself can do without another program: write, and read.
  const Command shell{
      {"/bin/sh", "-c",
       "echo here; echo x > " + (folder / "made") + " || echo refused; /bin/true || echo alone"}};
  const Command other{{"/bin/sh", "-c", "echo other"}};
  EXPECT_EQ(inside({{}, {}, {shell}},
                   [&] {
                     std::array<int, 2> ends{};
                     if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
                     if (start_program(other, ends[1])) return 2;
                     const auto started = start_program(shell, ends[1]);
                     if (!started) return 3;
                     ::close(ends[1]);
                     std::string said;
                     std::array<char, 256> part{};
                     for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;)
                       said.append(part.data(), static_cast<std::size_t>(size));
                     (void)end_program(*started, false);
                     if (!said.starts_with("here\n")) return 4;
                     return said.find("refused") == std::string::npos ? 5 : 7;
                   }),
            7);
  EXPECT_FALSE(std::filesystem::exists(folder / "made"));
}

/// From here on the kernel answers ENOSYS to one call, as one that does not have it; or to
/// prctl(first) alone.
bool forget(unsigned call, std::uint32_t first = 0) {
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, static_cast<std::uint8_t>(first == 0 ? 0 : 1)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Sandbox, OneOfTheTwoMeansIsEnoughAndWithoutBothItSaysSo) {
  SKIP_WITHOUT_SANDBOX();
  // A process that meets an older kernel: without Landlock, without filters, without either.
  const auto on_kernel = [](bool landlock, bool filters, const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!landlock && !forget(SYS_landlock_create_ruleset)) ::_exit(3);
      if (!filters && !forget(SYS_prctl, PR_SET_SECCOMP)) ::_exit(4);
      ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 252;
  };
  EXPECT_EQ(on_kernel(false, true,
                      [] {
                        const Probe found = probe();
                        const std::string why = found.in_force.why_no_files;
                        if (why.find("Landlock") == std::string::npos) return 1;
                        return found.in_force.calls && !found.in_force.files &&
                                       !found.can_execute && !found.can_write && !found.can_connect
                                   ? 7
                                   : 2;
                      }),
            7);
  EXPECT_EQ(on_kernel(true, false,
                      [] {
                        const Probe found = probe();
                        return found.in_force.files && !found.in_force.calls &&
                                       !found.can_execute && !found.can_write
                                   ? 7
                                   : 2;
                      }),
            7);
  const Folder folder;
  EXPECT_EQ(on_kernel(false, false,
                      [&] {
                        if (probe().in_force.any()) return 1;
                        if (Sandbox::enter({}) != nullptr) return 2;
                        put(folder / "made", "still");
                        return content(folder / "made") == "still" ? 7 : 5;
                      }),
            7);
}

TEST(Sandbox, TheProbeSaysWhatIsInForce) {
  const Probe found = probe();
  if (!found.in_force.any()) GTEST_SKIP() << found.in_force.why_no_files;
  EXPECT_FALSE(found.can_execute);
  EXPECT_FALSE(found.can_write);
  EXPECT_EQ(found.can_connect, !found.in_force.calls);
  EXPECT_EQ(::access("/bin/true", X_OK), 0);
}

}  // namespace
}  // namespace aplomb::sandbox

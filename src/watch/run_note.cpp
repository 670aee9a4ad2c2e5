#include "watch/run_note.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/new_file.h"

namespace aplomb::watch {
namespace {

constexpr const char* k_name = "/run.lock";
constexpr const char* k_first_line = "aplomb run 1";

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Field 22 of /proc/PID/stat; 0 where there is no such process.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string word;
  for (int field = 3; field < 22; ++field) rest >> word;
  std::uint64_t start = 0;
  rest >> start;
  return rest ? start : 0;
}

/// Whether a descriptor of the process leads to the file for writing: the mode of the link in
/// /proc/PID/fd says so. Whoever only reads the log is not the one that runs it.
bool writes(pid_t pid, const std::string& path) {
  struct stat wanted{};
  if (::stat(path.c_str(), &wanted) != 0) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator each(fmt::format("/proc/{}/fd", pid), error), end;
       !error && each != end; each.increment(error)) {
    struct stat is{};
    struct stat link{};
    if (::stat(each->path().c_str(), &is) == 0 && ::lstat(each->path().c_str(), &link) == 0 &&
        is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino && (link.st_mode & S_IWUSR) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

RunNote new_note() {
  RunNote note;
  note.pid = ::getpid();
  note.process_started = start_of(note.pid);
  note.started = now_s();
  return note;
}

core::Result<void> write_note(const std::string& folder, const RunNote& note) {
  // A run that has not ended has no status, and one whose `aplomb run` was killed never will.
  const std::string ended =
      note.ended > 0 ? fmt::format("status {}\nstopped {}\n", note.status, note.stopped ? 1 : 0)
                     : std::string();
  return core::replace_file(
      folder + k_name,
      fmt::format("{}\npid {}\nprocess {}\nstarted {:.3f}\nended {:.3f}\n{}", k_first_line,
                  note.pid, note.process_started, note.started, note.ended, ended));
}

std::optional<RunNote> read_note(const std::string& folder) {
  struct stat about{};
  const std::string path = folder + k_name;
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > 4096)
    return std::nullopt;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != k_first_line) return std::nullopt;
  RunNote note;
  std::string key;
  int stopped = 0;
  while (file >> key) {
    if (key == "pid") file >> note.pid;
    if (key == "process") file >> note.process_started;
    if (key == "started") file >> note.started;
    if (key == "ended") file >> note.ended;
    if (key == "status") file >> note.status;
    if (key == "stopped") file >> stopped;
    std::getline(file, line);
  }
  note.stopped = stopped != 0;
  if (note.pid <= 1) return std::nullopt;
  return note;
}

bool is_alive(const RunNote& note) {
  return note.process_started != 0 && start_of(note.pid) == note.process_started;
}

bool is_log_written(const std::string& folder) {
  const std::string log = folder + "/output.log";
  std::error_code error;
  for (std::filesystem::directory_iterator each("/proc", error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ptr == name.data() + name.size() && writes(pid, log)) return true;
  }
  return false;
}

core::Result<void> ask_to_stop(const std::string& folder, const RunNote& note) {
  if (note.ended > 0 || !is_alive(note))
    return core::fail(core::ErrorCode::bad_usage, "[stop] the run has ended already");
  if (!writes(note.pid, folder + "/output.log")) {
    return core::fail(
        core::ErrorCode::not_readable,
        fmt::format("[stop] process {}, which {}{} names, does not write that run's output.log; "
                    "likely the note was copied or is another user's; end the run by hand",
                    note.pid, folder, k_name));
  }
  sigval word{};
  word.sival_int = k_stop_word;
  if (::sigqueue(note.pid, SIGTERM, word) != 0)
    return core::fail(core::ErrorCode::not_readable,
                      fmt::format("[stop] process {}: {}", note.pid, std::strerror(errno)));
  return {};
}

}  // namespace aplomb::watch

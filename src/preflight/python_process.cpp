#include "preflight/python_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace aplomb::preflight {
namespace {

/// A tree of a million nodes takes 300 MB; a program of that size is no program. Columns are read by
/// libraries that reserve far more than they use.
constexpr std::uint64_t k_most_memory_bytes = std::uint64_t{4} << 30U;
constexpr std::uint32_t k_most_cpu_s = 120;

void close_once(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

bool is_binary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> head{};
  return file.read(head.data(), head.size()) && std::string_view(head.data(), 2) != "#!";
}

std::string search_path(const std::string& name, Packages packages) {
  const char* all = std::getenv("PATH");
  std::string_view folders = all == nullptr ? std::string_view() : std::string_view(all);
  std::string first;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::string_view folder = folders.substr(0, end);
    folders.remove_prefix(std::min(end + 1, folders.size()));
    if (!folder.starts_with('/')) continue;  // the folder it is started in decides nothing
    std::string path = std::string(folder) + "/" + name;
    std::error_code no_throw;
    if (!std::filesystem::is_regular_file(path, no_throw) || ::access(path.c_str(), X_OK) != 0)
      continue;
    if (packages == Packages::installed || is_binary(path)) return path;
    if (first.empty()) first = std::move(path);
  }
  return first;
}

}  // namespace

std::string find_python(const std::string& name, Packages packages) {
  if (name.find('/') != std::string::npos) return name;
  static std::mutex mutex;
  static std::map<std::pair<std::string, Packages>, std::string> found;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [place, is_new] = found.try_emplace({name, packages});
  if (is_new) place->second = search_path(name, packages);
  return place->second;
}

sandbox::Command python_command(const std::string& python, const std::string& program,
                                Packages packages) {
  sandbox::Command command;
  const std::string path = find_python(python, packages);
  if (path.empty()) return command;
  command.words = {path, packages == Packages::none ? "-ISB" : "-IB", "-c", program};
  if (packages == Packages::none) {
    command.most_memory_bytes = k_most_memory_bytes;
    command.most_cpu_s = k_most_cpu_s;
  }
  return command;
}

PythonProcess::~PythonProcess() { (void)end_missing(true); }

core::Result<void> PythonProcess::start(const std::string& python, const std::string& program,
                                        Packages packages) {
  const sandbox::Command command = python_command(python, program, packages);
  if (command.words.empty())
    return core::fail(core::ErrorCode::not_found, "[python] there is no " + python + " on PATH");
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return core::fail(core::ErrorCode::internal,
                      std::string("[python] no socket: ") + std::strerror(errno));
  socket_ = ends[0];
  const core::Result<sandbox::Started> started = sandbox::start_program(command, ends[1]);
  close_once(ends[1]);
  if (!started) return core::fail(started.error().code, "[python] " + started.error().text);
  child_ = *started;
  return {};
}

/// A socket, unlike a pipe, can be told not to raise a signal.
bool PythonProcess::send(const std::string& input) {
  for (std::size_t sent = 0; sent < input.size();) {
    const ssize_t part = ::send(socket_, input.data() + sent, input.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    sent += static_cast<std::size_t>(part);
  }
  return ::shutdown(socket_, SHUT_WR) == 0;
}

std::size_t PythonProcess::receive(char* into, std::size_t most, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wait{socket_, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    timed_out_ = ready == 0;
    if (ready <= 0) return 0;
    const ssize_t size = ::recv(socket_, into, most, 0);
    if (size < 0 && errno == EINTR) continue;
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }
}

bool PythonProcess::end_missing(bool kill) {
  close_once(socket_);
  if (child_.id < 0) return false;
  const int status = sandbox::end_program(child_, kill);
  child_ = {};
  return WIFEXITED(status) && WEXITSTATUS(status) == 127;
}

}  // namespace aplomb::preflight

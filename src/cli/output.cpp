#include "cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "core/new_file.h"
#include "core/text.h"
#include "discovery/file_search.h"

namespace aplomb::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

/// What the command line named to be read.
std::vector<std::string>& inputs() {
  static std::vector<std::string> all;
  return all;
}

/// Whether one of the files below a folder is this one, under whatever name (hard links too).
bool is_below(const std::string& folder, const struct stat& file) {
  namespace fs = std::filesystem;
  constexpr std::size_t k_most_files = 100'000;
  std::error_code why;
  std::size_t seen = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    struct stat each{};
    if (++seen > k_most_files) return true;  // not known: then rather not
    if (::stat(at->path().c_str(), &each) == 0 && each.st_dev == file.st_dev &&
        each.st_ino == file.st_ino) {
      return true;
    }
  }
  return false;
}

/// A file that a new one may take the place of; what stands below /dev (but for the folder of shared
/// memory) or /proc is another name of something else (/dev/stdout).
bool is_plain(const std::string& path) {
  std::error_code no_throw;
  const std::string whole = std::filesystem::absolute(path, no_throw).lexically_normal().string();
  const bool is_device = whole.starts_with("/dev/") && !whole.starts_with("/dev/shm/");
  if (is_device || whole.starts_with("/proc/")) return false;
  return !std::filesystem::exists(path, no_throw) ||
         std::filesystem::is_regular_file(path, no_throw);
}

/// A name of a descriptor is that descriptor: a second one of the same file would have a place of its
/// own in it, and write over what standard output said.
int open_special(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (name.starts_with(folder)) name.remove_prefix(folder.size());
  }
  int number = name == "/dev/stdout" ? STDOUT_FILENO : name == "/dev/stderr" ? STDERR_FILENO : -1;
  if (number < 0 && name.size() < path.size()) {
    const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (fault != std::errc() || end != name.data() + name.size()) number = -1;
  }
  return number >= 0 ? ::fcntl(number, F_DUPFD_CLOEXEC, 3)
                     : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

/// What open_beforehand() has opened.
std::map<std::string, int>& opened() {
  static std::map<std::string, int> all;
  return all;
}

bool write_all(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

}  // namespace

core::Result<void> write_out(std::string_view text) {
  if (write_all(stdout, text)) return {};
  return core::fail(core::ErrorCode::not_writable, "cannot write to standard output: " + reason());
}

void complain(std::string_view text) {
  const std::string line = "aplomb: " + std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void never_write(const std::vector<std::string>& paths) {
  std::vector<std::string>& all = inputs();
  all.insert(all.end(), paths.begin(), paths.end());
}

core::Result<void> may_write(const std::string& path) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& input) {
    return core::fail(core::ErrorCode::not_writable,
                      "refused to write " + core::sanitize(path) +
                          ": it is or leads into the input " + core::sanitize(input) +
                          ", and inputs are never written; name another file");
  };
  struct stat target{};
  const bool there = ::stat(path.c_str(), &target) == 0;
  if (there && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)) return {};  // /dev/stdout
  std::error_code why;
  const fs::path real = fs::weakly_canonical(path, why);
  for (const std::string& input : inputs()) {
    struct stat given{};
    if (::stat(input.c_str(), &given) != 0) continue;
    if (there && target.st_dev == given.st_dev && target.st_ino == given.st_ino)
      return refuse(input);
    // Below a folder of inputs a new file may stand, and a page be renewed: none is ever read.
    if (!S_ISDIR(given.st_mode) || !there) continue;
    if (discovery::use_of(real.string()) == discovery::FileUse::leave) continue;
    if (is_below(input, target)) return refuse(input);
  }
  return {};
}

bool open_beforehand(const std::string& path) {
  if (is_plain(path)) return false;
  if (const int file = open_special(path); file >= 0) opened()[path] = file;
  return true;
}

core::Result<void> write_file(const std::string& path, std::string_view text) {
  if (auto allowed = may_write(path); !allowed) return allowed;
  if (!is_plain(path)) {  // a device or a pipe (/dev/stdout) is written to as it is
    const auto before = opened().find(path);
    const int handle = before != opened().end() ? ::dup(before->second) : open_special(path);
    std::FILE* file = handle < 0 ? nullptr : ::fdopen(handle, "ab");
    const bool written = file != nullptr && write_all(file, text);
    const std::string why = written ? std::string() : reason();
    if (file == nullptr || std::fclose(file) != 0 || !written) {
      return core::fail(core::ErrorCode::not_writable,
                        "cannot write " + path + ": " + (why.empty() ? reason() : why));
    }
    return {};
  }
  auto file = core::NewFile::beside(path);
  if (!file) return tl::unexpected(file.error());
  if (auto done = (*file)->write(text); !done) return done;
  return (*file)->commit();
}

int terminal_width() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::clamp<int>(size.ws_col, 40, 120) : 80;
}

bool is_terminal_out() { return isatty(STDOUT_FILENO) == 1; }
bool is_terminal_error() { return isatty(STDERR_FILENO) == 1; }

bool wants_colour(std::string_view when) {
  if (when == "always") return true;
  if (when == "never") return false;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view forced = environment("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return is_terminal_out() && environment("TERM") != "dumb";
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (!value.empty()) return core::icontains(value, "utf-8") || core::icontains(value, "utf8");
  }
  return true;  // containers often set none, and their terminals know UTF-8 all the same
}

}  // namespace aplomb::cli

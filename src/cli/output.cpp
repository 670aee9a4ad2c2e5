#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/text.h"

namespace aplomb::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

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

core::Result<void> write_file(const std::string& path, std::string_view text) {
  std::error_code no_throw;
  const bool plain =
      !std::filesystem::exists(path, no_throw) || std::filesystem::is_regular_file(path, no_throw);
  // A device or a pipe (/dev/stdout) is written to as it is; a link is followed, not replaced.
  const bool through = !plain || std::filesystem::is_symlink(path, no_throw);
  const std::string target = through ? path : path + ".part";
  const auto failed = [&](const std::string& why) {
    if (!through) std::remove(target.c_str());
    return core::fail(core::ErrorCode::not_writable, "cannot write " + path + ": " + why);
  };
  std::FILE* file = std::fopen(target.c_str(), "wb");
  if (file == nullptr)
    return core::fail(core::ErrorCode::not_writable, "cannot write " + path + ": " + reason());
  const bool written = write_all(file, text);
  const std::string why = written ? std::string() : reason();
  if (std::fclose(file) != 0 || !written) return failed(written ? reason() : why);
  if (!through && std::rename(target.c_str(), path.c_str()) != 0) return failed(reason());
  return {};
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

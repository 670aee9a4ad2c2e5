#include "train/loop/atomic_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace aplomb::train::loop {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_mark = ".tmp-";

tl::unexpected<core::Error> cannot(const std::string& what, const std::string& path, int why) {
  std::string advice;
  if (why == ENOSPC || why == EDQUOT)
    advice = "; the disk is full: make room, or give another --output-dir";
  return core::fail(core::ErrorCode::not_writable, fmt::format("[checkpoint] {} {}: {}{}", what,
                                                               path, std::strerror(why), advice));
}

core::Result<void> sync(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return cannot("opening", path, errno);
  const int failed = ::fsync(file) != 0 ? errno : 0;
  ::close(file);
  if (failed != 0) return cannot("syncing", path, failed);
  return {};
}

core::Result<void> sync_below(const std::string& folder) {
  std::error_code why;
  for (fs::recursive_directory_iterator at(folder, why), end; !why && at != end;
       at.increment(why)) {
    const auto done =
        sync(at->path().string(), at->is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
    if (!done) return done;
  }
  if (why) return cannot("reading", folder, why.value());
  return sync(folder, O_RDONLY | O_DIRECTORY);
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

core::Result<AtomicFolder> AtomicFolder::begin(std::string place) {
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  std::string temporary = fmt::format("{}{}{}", place, k_mark, ::getpid());
  std::error_code why;
  fs::remove_all(temporary, why);
  fs::create_directories(temporary, why);
  if (why) return cannot("making", temporary, why.value());
  return AtomicFolder(std::move(place), std::move(temporary));
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : place_(std::move(other.place_)), temporary_(std::exchange(other.temporary_, {})) {}

AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  std::error_code no_throw;
  fs::remove_all(temporary_, no_throw);
}

core::Result<void> AtomicFolder::commit() {
  if (auto synced = sync_below(temporary_); !synced) return synced;
  struct stat there{};
  const bool exchange = ::stat(place_.c_str(), &there) == 0;
  const unsigned flags = exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place_.c_str(), flags) != 0)
    return cannot("putting in place", place_, errno);
  if (exchange) {
    std::error_code no_throw;
    fs::remove_all(temporary_, no_throw);  // what stood there before
  }
  temporary_.clear();
  return sync(parent_of(place_), O_RDONLY | O_DIRECTORY);
}

void remove_unfinished(const std::string& parent) {
  std::error_code why;
  std::vector<fs::path> left;
  for (fs::directory_iterator at(parent, why), end; !why && at != end; at.increment(why)) {
    const std::string name = at->path().filename().string();
    if (name.find(k_mark) != std::string::npos && at->is_directory()) left.push_back(at->path());
  }
  for (const fs::path& each : left) fs::remove_all(each, why);
}

core::Result<void> write_synced(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return cannot("opening", path, errno);
  int failed = 0;
  while (!bytes.empty() && failed == 0) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) failed = errno;
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (failed == 0 && ::fsync(file) != 0) failed = errno;
  if (::close(file) != 0 && failed == 0) failed = errno;
  if (failed != 0) return cannot("writing", path, failed);
  return {};
}

void remove_whole(const std::string& folder) {
  const std::string away = fmt::format("{}{}{}", folder, k_mark, ::getpid());
  std::error_code why;
  fs::remove_all(away, why);
  fs::rename(folder, away, why);
  if (!why) fs::remove_all(away, why);
}

}  // namespace aplomb::train::loop

#include "core/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

namespace aplomb::core {
namespace {

namespace fs = std::filesystem;

constexpr int k_most_tries = 16;

std::string reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

Error cannot(const std::string& path, const std::string& why) {
  return Error{ErrorCode::not_writable, "cannot write " + path + ": " + why};
}

std::string random_ending() {
  constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device chance;
  std::string ending;
  for (int i = 0; i < 12; ++i) ending += k_letters[chance() % k_letters.size()];
  return ending;
}

}  // namespace

NewFile::NewFile(std::string asked, std::string target, std::string temporary, int descriptor)
    : asked_(std::move(asked)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor) {}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<std::unique_ptr<NewFile>> NewFile::beside(const std::string& target) {
  std::error_code why;
  fs::path real = target;
  if (fs::is_symlink(real, why)) {
    real = fs::weakly_canonical(real, why);
    if (why) return tl::unexpected(cannot(target, why.message()));
  }
  struct stat before{};
  const bool known = ::stat(real.c_str(), &before) == 0;
  for (int i = 0; i < k_most_tries; ++i) {
    const fs::path temporary =
        real.parent_path() / ("." + real.filename().string() + "." + random_ending());
    const int descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      if (known) ::fchmod(descriptor, before.st_mode & 0777U);
      return std::unique_ptr<NewFile>(
          new NewFile(target, real.string(), temporary.string(), descriptor));
    }
    if (errno != EEXIST) break;
  }
  return tl::unexpected(cannot(target, reason()));
}

Result<void> NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return tl::unexpected(cannot(asked_, reason()));
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

Result<void> NewFile::commit() {
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return tl::unexpected(cannot(asked_, reason()));
  }
  temporary_.clear();
  return {};
}

}  // namespace aplomb::core

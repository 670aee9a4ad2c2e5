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

FileMaker* g_maker = nullptr;  // set once, before other threads are there

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

void make_files_through(FileMaker* maker) { g_maker = maker; }

Result<void> make_folder(const std::string& path) {
  if (g_maker != nullptr) return g_maker->make_folder(path);
  std::error_code why;
  fs::create_directories(path, why);
  if (why) return fail(ErrorCode::not_writable, path + ": " + why.message());
  return {};
}

void remove_file(const std::string& path) {
  if (g_maker != nullptr) return g_maker->remove(path);
  ::unlink(path.c_str());
}

NewFile::NewFile(std::string asked, std::string target, std::string temporary, int descriptor,
                 int id)
    : asked_(std::move(asked)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      id_(id) {}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (id_ >= 0 && g_maker != nullptr) g_maker->drop(id_);
}

Result<std::unique_ptr<NewFile>> NewFile::beside(const std::string& target, Links links) {
  if (g_maker != nullptr) {
    const Result<FileMaker::Made> made = g_maker->make(target);
    if (!made) return tl::unexpected(made.error());
    return std::unique_ptr<NewFile>(
        new NewFile(target, target, std::string(), made->descriptor, made->id));
  }
  std::error_code why;
  fs::path real = target;
  if (links == Links::follow && fs::is_symlink(real, why)) {
    real = fs::weakly_canonical(real, why);
    if (why) return tl::unexpected(cannot(target, why.message()));
  }
  struct stat before{};
  const bool is_link = ::lstat(real.c_str(), &before) == 0 && S_ISLNK(before.st_mode);
  const bool known = !is_link && ::stat(real.c_str(), &before) == 0;
  // A device, a pipe or a folder is never replaced by a file.
  if (known && !S_ISREG(before.st_mode))
    return tl::unexpected(cannot(target, "it is there and is no regular file"));
  for (int i = 0; i < k_most_tries; ++i) {
    const fs::path temporary =
        real.parent_path() / ("." + real.filename().string() + "." + random_ending());
    const int descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      if (known) ::fchmod(descriptor, before.st_mode & 0777U);
      return std::unique_ptr<NewFile>(
          new NewFile(target, real.string(), temporary.string(), descriptor, -1));
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
  // Bytes before the name: after a power failure an empty file under the final name would be worse
  // than the old one. What cannot be synced (some network and FUSE systems) says EINVAL or ENOTSUP.
  const bool synced = ::fsync(descriptor_) == 0 || errno == EINVAL || errno == ENOTSUP;
  const std::string why = synced ? std::string() : reason();
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (!synced) return tl::unexpected(cannot(asked_, why));
  if (closed != 0) return tl::unexpected(cannot(asked_, reason()));
  if (id_ >= 0 && g_maker != nullptr) {
    if (auto done = g_maker->commit(id_); !done) return done;
    id_ = -1;
    return {};
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    return tl::unexpected(cannot(asked_, reason()));
  temporary_.clear();
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  auto file = NewFile::beside(path, NewFile::Links::replace);
  if (!file) return tl::unexpected(file.error());
  if (auto done = (*file)->write(bytes); !done) return done;
  return (*file)->commit();
}

}  // namespace aplomb::core

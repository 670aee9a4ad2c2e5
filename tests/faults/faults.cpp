// Preloaded into the program by tests: the call number APLOMB_FAIL_AT of a kind fails with the error
// APLOMB_FAIL_WITH; 0: a write of half the bytes. Counted in each process, over regular files alone.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

long setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? -1 : std::strtol(value, nullptr, 10);
}

bool is_kind(std::string_view kind) {
  const char* value = std::getenv("APLOMB_FAIL_KIND");
  return value != nullptr && kind == value;
}

std::atomic<long> g_seen{0};

bool fails_now(std::string_view kind) {
  return is_kind(kind) && ++g_seen == setting("APLOMB_FAIL_AT");
}

bool is_file(int descriptor) {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

template <class Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym is for
}

int opened(const char* name, const char* path, int flags, mode_t mode) {
  if (fails_now((flags & O_ACCMODE) == O_RDONLY ? "read-open" : "open")) {
    errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
    return -1;
  }
  return real<int(const char*, int, mode_t)>(name)(path, flags, mode);
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened("open64", path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto call = real<ssize_t(int, const void*, size_t)>("write");
  if (!is_file(descriptor) || !fails_now("write")) return call(descriptor, bytes, size);
  const long error = setting("APLOMB_FAIL_WITH");
  if (error == 0) return call(descriptor, bytes, size > 1 ? size / 2 : size);
  errno = static_cast<int>(error);
  return -1;
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  const auto call = real<ssize_t(int, void*, size_t)>("read");
  if (!is_file(descriptor) || !fails_now("read")) return call(descriptor, bytes, size);
  const long error = setting("APLOMB_FAIL_WITH");
  if (error == 0) return call(descriptor, bytes, size > 1 ? size / 2 : size);
  errno = static_cast<int>(error);
  return -1;
}

int fsync(int descriptor) {
  if (is_file(descriptor) && fails_now("fsync")) {
    errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
    return -1;
  }
  return real<int(int)>("fsync")(descriptor);
}

int rename(const char* from, const char* to) {
  if (fails_now("rename")) {
    errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
    return -1;
  }
  return real<int(const char*, const char*)>("rename")(from, to);
}
}

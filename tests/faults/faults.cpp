// Preloaded into the program by tests: the call number APLOMB_FAIL_AT of a kind fails with the error
// APLOMB_FAIL_WITH; 0: half the bytes of a read or write. Counted in each process, over regular files
// alone. Calls of the kind `kill` are all with which an output comes about: the process ends there as
// by kill -9. Those of the kind `malloc` count from the first open of a path that holds
// APLOMB_FAIL_FROM, so that only what reads and writes meets them. A failure that came makes the file
// APLOMB_FAIL_MARK.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
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
std::atomic<bool> g_in_malloc{false};  ///< armed: an input has been opened

void mark() {
  const char* path = std::getenv("APLOMB_FAIL_MARK");
  if (path != nullptr)
    ::syscall(SYS_close, ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600));
}

bool fails_now(std::string_view kind) {
  if (!is_kind(kind) || ++g_seen != setting("APLOMB_FAIL_AT")) return false;
  mark();
  return true;
}

/// One of the calls with which an output comes about.
void dies_now() {
  if (fails_now("kill")) ::kill(::getpid(), SIGKILL);
}

/// Settings are read once: malloc is called a million times.
const long g_malloc_at = is_kind("malloc") ? setting("APLOMB_FAIL_AT") : -1;

bool allocation_fails() {
  if (!g_in_malloc || ++g_seen != g_malloc_at) return false;
  mark();
  errno = ENOMEM;
  return true;
}

void arm(const char* path) {
  const char* from = std::getenv("APLOMB_FAIL_FROM");
  if (g_malloc_at > 0 && from != nullptr && std::strstr(path, from) != nullptr) g_in_malloc = true;
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
  arm(path);
  if ((flags & O_ACCMODE) != O_RDONLY) dies_now();
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
  if (is_file(descriptor)) dies_now();
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
  if (is_file(descriptor)) dies_now();
  if (is_file(descriptor) && fails_now("fsync")) {
    errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
    return -1;
  }
  return real<int(int)>("fsync")(descriptor);
}

int rename(const char* from, const char* to) {
  dies_now();
  if (fails_now("rename")) {
    errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
    return -1;
  }
  return real<int(const char*, const char*)>("rename")(from, to);
}

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* before, size_t size);

void* malloc(size_t size) { return allocation_fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return allocation_fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* before, size_t size) {
  return allocation_fails() ? nullptr : __libc_realloc(before, size);
}

ssize_t pread(int descriptor, void* bytes, size_t size, off_t at) {
  const auto call = real<ssize_t(int, void*, size_t, off_t)>("pread");
  if (!is_file(descriptor) || !fails_now("read")) return call(descriptor, bytes, size, at);
  const long error = setting("APLOMB_FAIL_WITH");
  if (error == 0) return call(descriptor, bytes, size > 1 ? size / 2 : size, at);
  errno = static_cast<int>(error);
  return -1;
}

void* mmap(void* place, size_t size, int may, int how, int descriptor, off_t at) {
  const auto call = real<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (descriptor < 0 || !is_file(descriptor) || !fails_now("mmap"))
    return call(place, size, may, how, descriptor, at);
  errno = static_cast<int>(setting("APLOMB_FAIL_WITH"));
  return MAP_FAILED;  // NOLINT: the system's own
}
}

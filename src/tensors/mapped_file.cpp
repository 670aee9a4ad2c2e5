#include "tensors/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace aplomb::tensors {
namespace {

/// A file descriptor that closes itself.
struct Descriptor {
  int value = -1;
  explicit Descriptor(int opened) : value(opened) {}
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

std::string why() { return std::strerror(errno); }

struct Pages {
  void* begin = nullptr;
  std::size_t size = 0;
};

/// Those that the bytes touch, or those that lie inside them whole.
Pages pages_of(std::span<const std::byte> bytes, bool inside_only) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t end = begin + bytes.size();
  const std::uintptr_t from = (inside_only ? begin + page - 1 : begin) / page * page;
  const std::uintptr_t to = inside_only ? end / page * page : end;
  if (from >= to) return {};
  return {reinterpret_cast<void*>(from), to - from};  // NOLINT: page arithmetic
}

void advise(std::span<const std::byte> bytes, int advice, bool inside_only) {
  const Pages pages = pages_of(bytes, inside_only);
  if (pages.size > 0) ::madvise(pages.begin, pages.size, advice);
}

}  // namespace

core::Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must not hold us; it is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) {
    const core::ErrorCode code =
        errno == ENOENT ? core::ErrorCode::not_found : core::ErrorCode::not_readable;
    return core::fail(code, fmt::format("[checkpoint] cannot open {}: {}", path, why()));
  }
  struct stat about{};
  if (::fstat(file.value, &about) != 0 || !S_ISREG(about.st_mode)) {
    return core::fail(core::ErrorCode::not_readable,
                      fmt::format("[checkpoint] {} is no plain file", path));
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) {
    return core::fail(core::ErrorCode::not_readable,
                      fmt::format("[checkpoint] cannot map {} ({} bytes): {}", path, size, why()));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);  // NOLINT: munmap's form
}

bool make_private_copies_on_write(std::span<const std::byte> bytes) {
  const Pages pages = pages_of(bytes, false);
  return pages.size == 0 || ::mprotect(pages.begin, pages.size, PROT_READ | PROT_WRITE) == 0;
}

void drop_pages(std::span<const std::byte> bytes) { advise(bytes, MADV_DONTNEED, true); }
void will_read(std::span<const std::byte> bytes) { advise(bytes, MADV_WILLNEED, false); }

void bring_in(std::span<const std::byte> bytes) {
  will_read(bytes);  // every request at once; the next line waits for them and fills the page table
#ifdef MADV_POPULATE_READ
  advise(bytes, MADV_POPULATE_READ, false);  // Linux 5.14; where it is not known nothing happens
#endif
}

}  // namespace aplomb::tensors

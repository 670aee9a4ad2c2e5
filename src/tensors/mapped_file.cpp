#include "tensors/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "core/memory_budget.h"

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

// What a signal handler may look at: mappings in a table that never moves. Places are taken and
// given back under a mutex; the handler takes none and only reads numbers.
constexpr std::size_t k_most_mappings = 65530;  // Linux's default vm.max_map_count

struct Guard {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free
  std::atomic<std::size_t> size{0};
  std::atomic<const char*> path{nullptr};
  std::atomic<std::uint64_t> lost{0};  ///< one more than the first byte that was missed; 0: none
};

/// All zeros at the start: pages that nobody takes a place in cost nothing.
constinit std::array<Guard, k_most_mappings> the_table{};
constinit std::atomic<std::size_t> the_used{0};  ///< places that have ever been taken

struct Guards {
  std::mutex mutex;
  std::vector<std::size_t> free;
  std::map<std::string, LostFile> lost;  ///< of mappings that are gone
};

/// Never destroyed: files may be unmapped after main() has ended.
Guards& guards() {
  static Guards* const the_guards = new Guards;  // NOLINT(cppcoreguidelines-owning-memory)
  return *the_guards;
}

void remember(std::map<std::string, LostFile>& lost, const Guard& guard) {
  const std::uint64_t from_1 = guard.lost;
  if (from_1 == 0) return;
  const std::uint64_t from = from_1 - 1;
  const std::string path = guard.path.load();
  const auto known = lost.try_emplace(path, LostFile{path, from, guard.size}).first;
  known->second.from = std::min(known->second.from, from);
}

/// The place taken; k_most_mappings where all are.
std::size_t take_guard(const std::string& path, const void* data, std::size_t size) {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  std::size_t place = the_used;
  if (!all.free.empty()) {
    place = all.free.back();
    all.free.pop_back();
  } else if (place == k_most_mappings) {
    return place;
  } else {
    ++the_used;
  }
  Guard& guard = the_table[place];
  guard.lost = 0;
  guard.path = path.c_str();
  guard.size = size;
  guard.begin = reinterpret_cast<std::uintptr_t>(data);
  return place;
}

void give_guard_back(std::size_t place) {
  if (place >= k_most_mappings) return;
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  Guard& guard = the_table[place];
  remember(all.lost, guard);
  guard.begin = 0;
  guard.path = nullptr;
  all.free.push_back(place);
}

/// Bytes of the mapping that the file still has. stat() is safe in a signal handler.
std::size_t bytes_left(const Guard& guard) {
  struct stat now{};
  const char* path = guard.path;
  if (path == nullptr || ::stat(path, &now) != 0 || now.st_size < 0) return guard.size;
  return static_cast<std::size_t>(now.st_size);
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
  // The file itself is the system's to drop; what is read out of it is not.
  if (core::memory_is_short()) {
    return core::fail(core::ErrorCode::too_large,
                      fmt::format("[checkpoint] {} was left out: {}", path, core::why_left_out()));
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

MappedFile::MappedFile(std::string path, const std::byte* data, std::size_t size)
    : path_(std::move(path)),
      data_(data),
      size_(size),
      guard_(data == nullptr ? k_most_mappings : take_guard(path_, data, size)) {}

MappedFile::~MappedFile() {
  give_guard_back(guard_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);  // NOLINT: munmap's form
}

bool replace_lost_page(const void* address) noexcept {
  const int error = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t used = the_used;
  for (std::size_t i = 0; i < used; ++i) {
    Guard& guard = the_table[i];
    const std::uintptr_t begin = guard.begin;
    const std::size_t size = guard.size;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (begin == 0 || at < begin || at >= begin + (size + page - 1) / page * page) continue;
    // A file that was cut is gone to its end; of one that the disk does not give, this page is.
    const std::uintptr_t from = at / page * page;
    const bool cut = bytes_left(guard) <= from - begin;
    const std::uintptr_t to = cut ? begin + (size + page - 1) / page * page : from + page;
    void* const zeros =
        ::mmap(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE,  // NOLINT
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return false;
    const std::uint64_t lost = from - begin + 1;
    std::uint64_t known = guard.lost;
    while ((known == 0 || lost < known) && !guard.lost.compare_exchange_weak(known, lost)) {
    }
    errno = error;
    return true;
  }
  errno = error;
  return false;
}

std::vector<LostFile> lost_files() {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  std::map<std::string, LostFile> lost = all.lost;
  for (std::size_t i = 0; i < the_used; ++i) {
    if (the_table[i].begin != 0) remember(lost, the_table[i]);
  }
  std::vector<LostFile> list;
  for (auto& [path, file] : lost) list.push_back(std::move(file));
  return list;
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

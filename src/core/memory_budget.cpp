#include "core/memory_budget.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <fstream>
#include <string_view>
#include <thread>

#include "core/text.h"

namespace aplomb::core {
namespace {

std::atomic<std::uint64_t> the_limit{0};
std::atomic<bool> the_shortage{false};
std::atomic<int> the_counter{-1};  ///< /proc/self/statm, open as long as the process runs

/// The first whole number of a file; 0: none (`max`, no such file).
std::uint64_t number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : 0;
}

/// The fields of statm in bytes: all, resident, shared, code, 0, data.
std::array<std::uint64_t, 6> pages_now() {
  std::array<std::uint64_t, 6> fields{};
  std::array<char, 160> text{};
  const ssize_t size = ::pread(the_counter, text.data(), text.size(), 0);
  const char* at = text.data();
  const char* const end = at + std::max<ssize_t>(size, 0);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (std::uint64_t& each : fields) {
    at = std::find_if(at, end, [](char c) { return c != ' '; });
    at = std::from_chars(at, end, each).ptr;
    each *= page;
  }
  return fields;
}

}  // namespace

std::uint64_t half_of_the_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  std::uint64_t all = pages > 0 ? static_cast<std::uint64_t>(pages) *
                                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                                : 0;
  for (const char* each :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::uint64_t limit = number_in(each);
    if (limit > 0) all = all == 0 ? limit : std::min(all, limit);
  }
  return all / 2;
}

void limit_memory(std::uint64_t bytes) {
  if (bytes == 0) return;
  if (the_counter < 0) the_counter = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  the_limit = bytes;
  // Address space that is reserved already (sanitizers: terabytes) and stacks of threads are no
  // memory yet.
  const std::uint64_t reserved = pages_now()[5];
  const std::uint64_t stacks =
      std::uint64_t{8U << 20U} * std::max(1U, std::thread::hardware_concurrency());
  rlimit most{};
  if (::getrlimit(RLIMIT_DATA, &most) != 0) return;
  most.rlim_cur = std::min<rlim_t>(most.rlim_max, reserved + bytes + stacks);
  ::setrlimit(RLIMIT_DATA, &most);
}

bool memory_is_short() {
  const std::uint64_t limit = the_limit;
  if (limit == 0 || the_counter < 0) return false;
  const auto now = pages_now();
  const bool is_short = now[1] > now[2] && now[1] - now[2] > limit / 2;
  if (is_short) the_shortage = true;
  return is_short;
}

bool memory_was_short() { return the_shortage; }

std::string why_left_out() {
  return fmt::format("more memory than the {} of --max-memory would be needed",
                     show_bytes(static_cast<double>(the_limit.load())));
}

}  // namespace aplomb::core

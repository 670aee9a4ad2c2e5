#include "train/loop/machine.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace aplomb::train::loop {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    if (word != "MemAvailable:") continue;
    std::uint64_t kib = 0;
    return file >> kib ? kib * 1024 : 0;
  }
  return 0;
}

}  // namespace aplomb::train::loop

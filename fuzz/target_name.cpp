#include "target_name.h"

#include <cstdlib>
#include <string>

namespace aplomb::fuzz {
namespace {
std::string g_target;
}

std::string_view target_name() { return g_target; }

}  // namespace aplomb::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** arguments) {
  std::string_view path((*arguments)[0]);
  path.remove_prefix(path.find_last_of('/') + 1);
  constexpr std::string_view k_prefix = "fuzz_";
  if (!path.starts_with(k_prefix)) std::abort();  // the build names every program and link so
  aplomb::fuzz::g_target = path.substr(k_prefix.size());
  return 0;
}

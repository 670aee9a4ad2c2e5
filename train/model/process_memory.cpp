#include "train/model/process_memory.h"

#include <limits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace aplomb::train::model {

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int k_never = std::numeric_limits<int>::max();
  mallopt(M_MMAP_THRESHOLD, k_never);  // blocks below 2 GiB come from the heap,
  mallopt(M_TRIM_THRESHOLD, k_never);  // whose top is not given back either
#endif
}

}  // namespace aplomb::train::model

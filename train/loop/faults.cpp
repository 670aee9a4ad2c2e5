#include "train/loop/faults.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>

#include "core/text.h"

namespace aplomb::train::loop {
namespace {

/// The sentence that says how much was asked for; torch puts places in its sources before it and a
/// backtrace behind it.
std::string first_sentence(std::string_view what) {
  for (const std::string_view head : {"DefaultCPUAllocator", "CUDA out of memory"}) {
    const std::size_t at = what.find(head);
    if (at != std::string_view::npos) what = what.substr(at);
  }
  what = what.substr(0, what.find('\n'));
  constexpr std::size_t k_most = 160;
  return core::shorten(core::sanitize(what.substr(0, what.find(". "))), k_most);
}

bool is_out_of_memory(const std::exception& fault) {
  if (dynamic_cast<const std::bad_alloc*>(&fault) != nullptr ||
      dynamic_cast<const c10::OutOfMemoryError*>(&fault) != nullptr) {
    return true;
  }
  // The CPU's allocator has no class of its own.
  return std::string_view(fault.what()).find("DefaultCPUAllocator") != std::string_view::npos;
}

}  // namespace

std::string told_fault(const std::exception& fault) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&fault);
  const std::string what = of_torch != nullptr ? of_torch->what_without_backtrace() : fault.what();
  if (!is_out_of_memory(fault))
    return "a fault of its own, please report it: " + core::sanitize(what);
  return fmt::format(
      "out of memory ({}). Smaller passes help first (--per-device-train-batch-size; --batch-size "
      "may stay), then --use-gradient-checkpointing, a shorter --cutoff-len, an adapter instead of "
      "full; `aplomb plan --fit` says what each saves. Checkpoints written before are whole",
      first_sentence(what));
}

}  // namespace aplomb::train::loop

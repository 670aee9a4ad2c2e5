#pragma once
/// How much memory this process may take, so that readers leave something out before the system ends
/// the whole of it:
///
///     limit_memory(half_of_the_machine());
///     ... before each file and part: if (memory_is_short()) say what is left out and stop;
///
/// Counted is what is resident and of this process alone; mapped files are the system's to drop. What
/// asks for more than all of it at once gets std::bad_alloc.

#include <cstdint>
#include <string>

namespace aplomb::core {

/// Half of the memory of the machine, or of the container where that has less; 0 where neither is
/// known.
std::uint64_t half_of_the_machine();

/// Once a process, before it has other threads or gives up its rights. 0: no limit.
void limit_memory(std::uint64_t bytes);

/// Whether more than half is taken: the rest is for the answer. Cheap enough for each part
/// of a file; safe from several threads.
bool memory_is_short();

/// Whether memory_is_short() has ever said so: something was left out.
bool memory_was_short();

/// `more memory than the 12.0 GiB of --max-memory would be needed`
std::string why_left_out();

}  // namespace aplomb::core

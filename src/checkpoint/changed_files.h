#pragma once
/// What became of a checkpoint's files while they were read: cut, grown, unreadable in the middle.
///
///     for (const Finding& each : changed_files(checkpoint)) ...     // after the last byte was read
///
/// Asks the file system once a file. A file that was replaced by another of its size is not told:
/// what was read is then all of the old one.

#include <vector>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

/// Kinds `checkpoint.changed` (another size than at the opening: somebody writes it, or cut it) and
/// `checkpoint.lost` (bytes could not be had any more: they were taken as zeros).
std::vector<tensors::Finding> changed_files(const Checkpoint& checkpoint);

}  // namespace aplomb::checkpoint

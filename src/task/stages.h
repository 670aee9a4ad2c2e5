#pragma once
/// Where a program begins another stage of its training: a harder part of a curriculum, layers that
/// are let go, a longer sequence. Levels of a loss mean nothing across such a step.
///
/// Told by a line that says so (the event `stage-begins`), or by a number that the program prints
/// beside its losses and that changes a few times only: `digits 1` ... `digits 2`.

#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::task {

struct Stage {
  std::int64_t step = 0;  ///< of the last record before it
  std::string told_by;    ///< `digits 1 -> 2`, or the line
  record::Origin origin;
};

/// Rising by step; without the first stage, with which a run begins.
std::vector<Stage> stages_of(const record::Run& run);

}  // namespace aplomb::task

#pragma once
/// When aplomb would have spoken: the detectors, fed record by record with what the user's logger
/// wrote, as they are in `aplomb run`, in callbacks and in the trainer.

#include <optional>
#include <string>

#include "core/severity.h"
#include "train/lab/fault.h"

namespace aplomb::train::lab {

struct Alarm {
  std::int64_t step = 0;  ///< of the record after which it was said
  Severity severity = Severity::note;
  std::string what;  ///< id of the symptom; `error` where the program ended by one
};

/// The first of at least `least`. What can only be said over the whole counts at the last record.
std::optional<Alarm> first_alarm(const Trace& trace, Style style, Severity least);

}  // namespace aplomb::train::lab

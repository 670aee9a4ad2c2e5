#pragma once
/// When aplomb would have spoken: before the run, over the user's files (`aplomb check`, which the
/// trainer runs before its first step), and during it: the detectors, fed record by record with
/// what the user's logger wrote, as they are in `aplomb run`, in callbacks and in the trainer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/severity.h"
#include "train/lab/fault.h"

namespace aplomb::train::lab {

struct Alarm {
  std::int64_t step = 0;  ///< of the record after which it was said
  core::Severity severity = core::Severity::note;
  std::string what;  ///< id of the symptom or finding; `error` where the program ended by one
};

/// The first of at least `least` from step `begins` on; a symptom that stood already counts only
/// where it becomes more severe. What can only be said over the whole counts at the last record.
std::optional<Alarm> first_alarm(const Trace& trace, Style style, core::Severity least,
                                 std::int64_t begins = 0);

/// The worst finding of at least `warning` of `aplomb check` over `folder` that is about the fault:
/// it leads to one of `causes`, and the same finding is not made of the healthy twin's files
/// (`twin_folder`). Step 0; nothing where the folder is not there.
std::optional<Alarm> alarm_before(const std::string& folder, const std::string& twin_folder,
                                  const std::vector<std::string>& causes);
/// The worst finding of at least `warning` over the files of a healthy run.
std::optional<Alarm> any_alarm_before(const std::string& folder);

}  // namespace aplomb::train::lab

#pragma once
/// What a run that is resumed from this checkpoint would get back, what it would not, and what that
/// will look like in its metrics.

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

struct ResumePart {
  std::string
      role;  ///< weights | optimizer | scheduler | trainer-state | data-position | rng | scaler
  bool present = false;
  core::Severity severity = core::Severity::note;  ///< of its absence
  std::string detail;                              ///< what it holds, where it is there
  std::string consequence;                         ///< what will be seen, where it is missing
};

struct ResumeAudit {
  std::vector<ResumePart> parts;
  std::vector<std::string> disagreements;  ///< step counters that contradict each other
  bool complete() const;                   ///< nothing is missing whose absence is more than a note
};

/// `world`: how many processes will resume; 0: not known.
ResumeAudit audit_resume(const Checkpoint& checkpoint, std::size_t world = 0);

}  // namespace aplomb::checkpoint

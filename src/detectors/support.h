#pragma once
/// What several detectors need: a reading by role, a sample with its place, the words of a summary.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "detectors/detector.h"

namespace aplomb::detectors {

/// The frame's reading of this role; null where it has none.
inline const Reading* reading_of(const Frame& frame, record::Role role) {
  for (const Reading& reading : frame.readings) {
    if (reading.role == role) return &reading;
  }
  return nullptr;
}

/// The frame's finite value of this role; null where it has none.
inline const Reading* finite_of(const Frame& frame, record::Role role) {
  const Reading* reading = reading_of(frame, role);
  return reading != nullptr && std::isfinite(reading->value) ? reading : nullptr;
}

/// The frame's finite value of this part; null where it has none.
inline const Reading* finite_part(const Frame& frame, task::Part part) {
  for (const Reading& reading : frame.readings) {
    if (reading.part == part && std::isfinite(reading.value)) return &reading;
  }
  return nullptr;
}

/// A sample with its place in the run and in the artifact.
struct Sample {
  double value = 0;
  std::int64_t step = 0;
  record::Origin origin;
};

inline Sample sample_of(const Frame& frame, const Reading& reading) {
  return {reading.value, frame.step, reading.origin};
}

/// Gives the frame's finite value of this role, or of this part, to `series`, where it has one.
template <class Series>
void add_finite(const Frame& frame, record::Role role, Series& series) {
  if (const Reading* reading = finite_of(frame, role)) series.add(sample_of(frame, *reading));
}
template <class Series>
void add_finite(const Frame& frame, task::Part part, Series& series) {
  if (const Reading* reading = finite_part(frame, part)) series.add(sample_of(frame, *reading));
}

/// `step 512`, `epoch 3`, `record 17`.
std::string at_step(const RunContext& context, std::int64_t step);

/// `steps 10 to 90`, or as at_step() where both are equal.
std::string over_steps(const RunContext& context, std::int64_t first, std::int64_t last);

/// `37 %`, `0.4 %`.
std::string percent(double share);

/// Name of the series of a reading, `fallback` where the context does not know it.
std::string series_name(const RunContext& context, const Reading& reading,
                        std::string_view fallback);

/// At most 8 origins go with a symptom: the first ones are kept, and the last.
void add_evidence(Symptom& symptom, const record::Origin& origin);

/// Takes back what was reported under this id (see DetectorBank).
Symptom withdrawal(std::string_view id, std::string_view series);

/// Counts of a share that is told as `x of y`.
struct Tally {
  std::uint64_t hit = 0;
  std::uint64_t of = 0;
  void add(bool is_hit) {
    hit += is_hit ? 1 : 0;
    ++of;
  }
  double share() const {
    return of == 0 ? 0.0 : static_cast<double>(hit) / static_cast<double>(of);
  }
};

}  // namespace aplomb::detectors

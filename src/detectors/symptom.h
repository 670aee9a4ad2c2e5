#pragma once
/// Symptom: what a detector found. It names what is seen, never why.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/severity.h"
#include "core/value.h"
#include "record/run.h"

namespace aplomb::detectors {

struct Symptom {
  std::string id;  ///< the detector's slug or one below it: `loss.spike`, `loss.nonfinite`
  core::Severity severity = core::Severity::note;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::string series;  ///< normalised name of the series it was seen on, empty where on none
  std::string
      summary;  ///< one line for a tired reader: `loss jumps 2.1 -> 9.8 at step 512 (14 sigma)`
  /// Numbers and words that the knowledge base may ask for: they become the facts `<id>.<key>`.
  std::map<std::string, core::Value> measures;
  std::vector<record::Origin> evidence;  ///< the samples that show it, at most 8
};

}  // namespace aplomb::detectors

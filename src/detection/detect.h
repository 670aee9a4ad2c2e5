#pragma once
/// What the detectors say of a Run, finished or not.

#include <vector>

#include "detectors/symptom.h"
#include "record/run.h"

namespace aplomb::detection {

/// A finished run: frames made from its series by (segment, step), fed through a bank. Symptoms
/// come most severe first, then by step.
std::vector<detectors::Symptom> detect(const record::Run& run);

/// A run that goes on: what the detectors are sure of already, without what can only be said over
/// the whole. In the order in which it was seen.
std::vector<detectors::Symptom> detect_so_far(const record::Run& run);

}  // namespace aplomb::detection

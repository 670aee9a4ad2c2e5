#pragma once
/// Detectors that look at the run as a whole: time, memory, restarts, its log, its gates: one function each.

#include <memory>

#include "detectors/detector.h"

namespace aplomb::run_detectors {

#define APLOMB_MEMBER(slug) std::unique_ptr<detectors::Detector> make_##slug##_detector();
#include "run_detectors/roster.def"
#undef APLOMB_MEMBER

}  // namespace aplomb::run_detectors

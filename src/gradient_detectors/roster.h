#pragma once
/// Detectors that look at gradients, logits and the steps that are made of them: one function each.

#include <memory>

#include "detectors/detector.h"

namespace aplomb::gradient_detectors {

#define APLOMB_MEMBER(slug) std::unique_ptr<detectors::Detector> make_##slug##_detector();
#include "gradient_detectors/roster.def"
#undef APLOMB_MEMBER

}  // namespace aplomb::gradient_detectors

#pragma once
/// Detectors that look at the loss and held-out metrics: one function each.

#include <memory>

#include "detectors/detector.h"

namespace aplomb::loss_detectors {

#define APLOMB_MEMBER(slug) std::unique_ptr<detectors::Detector> make_##slug##_detector();
#include "loss_detectors/roster.def"
#undef APLOMB_MEMBER

}  // namespace aplomb::loss_detectors

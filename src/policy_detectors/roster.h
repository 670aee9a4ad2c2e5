#pragma once
/// Detectors that look at rewards, policies and preferences: one function each.

#include <memory>

#include "detectors/detector.h"

namespace aplomb::policy_detectors {

#define APLOMB_MEMBER(slug) std::unique_ptr<detectors::Detector> make_##slug##_detector();
#include "policy_detectors/roster.def"
#undef APLOMB_MEMBER

}  // namespace aplomb::policy_detectors

#include "detectors/detector.h"

namespace aplomb::detectors {

void Detector::interim(const RunContext&, std::vector<Symptom>&) const {}

}  // namespace aplomb::detectors

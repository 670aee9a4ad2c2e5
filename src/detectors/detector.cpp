#include "detectors/detector.h"

namespace aplomb::detectors {

std::string_view RunContext::step_word() const {
  switch (step_kind) {
    case record::StepKind::epoch:
      return "epoch";
    case record::StepKind::ordinal:
      return "record";
    default:
      return "step";
  }
}

void Detector::interim(const RunContext&, std::vector<Symptom>&) const {}

}  // namespace aplomb::detectors

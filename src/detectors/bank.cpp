#include "detectors/detector.h"
namespace aplomb {
#define APLOMB_MEMBER(slug) std::unique_ptr<Detector> make_##slug##_detector();
#include "detectors/roster.def"
#undef APLOMB_MEMBER
std::vector<std::unique_ptr<Detector>> make_detectors() {
  std::vector<std::unique_ptr<Detector>> all;
#define APLOMB_MEMBER(slug) all.push_back(make_##slug##_detector());
#include "detectors/roster.def"
#undef APLOMB_MEMBER
  return all;
}
std::vector<Symptom> detect(const Run&) { return {}; }
}  // namespace aplomb

#include "detectors/range_watch.h"

namespace aplomb::detectors {

Symptom describe_range(const RangeWatch& watch, std::string id, std::string_view series,
                       core::Severity severity) {
  Symptom symptom;
  symptom.id = std::move(id);
  symptom.severity = severity;
  symptom.series = std::string(series);
  symptom.first_step = watch.since().step;
  symptom.last_step = watch.last().step;
  symptom.measures["share"] = watch.share();
  symptom.measures["first"] = watch.first().value;
  symptom.measures["last"] = watch.last().value;
  symptom.measures["worst"] = watch.worst().value;
  symptom.measures["records"] = static_cast<double>(watch.count());
  add_evidence(symptom, watch.first().origin);
  add_evidence(symptom, watch.since().origin);
  add_evidence(symptom, watch.worst().origin);
  return symptom;
}

}  // namespace aplomb::detectors

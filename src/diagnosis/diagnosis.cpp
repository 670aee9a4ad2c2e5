#include "diagnosis/diagnosis.h"
namespace aplomb {
Diagnosis diagnose_run(const Run&, const std::vector<Symptom>&) { return {}; }
}  // namespace aplomb

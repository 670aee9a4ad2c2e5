#pragma once
/// What the gates cannot see, for it is no metric: a run that ended in an error passes none of them.

#include <vector>

#include "detectors/symptom.h"
#include "facts/fact_table.h"

namespace aplomb::diagnosis {

/// The gates of the first ten records and of success, where the run ran out of memory, was killed or
/// broke off: they do not pass, and say why.
void close_gates(const facts::FactTable& facts, std::vector<detectors::Symptom>& symptoms);

}  // namespace aplomb::diagnosis

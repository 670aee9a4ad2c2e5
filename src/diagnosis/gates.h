#pragma once
/// What the gates cannot see, for it is no metric: a run that ended in an error passes none of them.

#include <vector>

#include "detectors/symptom.h"
#include "facts/fact_table.h"
#include "record/run.h"

namespace aplomb::diagnosis {

/// The gates of the first ten records and of success, where the run ran out of memory, was killed or
/// broke off in an error that it did not survive: they do not pass, and say why.
void close_gates(const record::Run& run, const facts::FactTable& facts,
                 std::vector<detectors::Symptom>& symptoms);

}  // namespace aplomb::diagnosis

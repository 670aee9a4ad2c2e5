#pragma once
/// How the run stands, and the one sentence that says so.

#include <string>
#include <vector>

#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {

/// How much an event weighs for the run as a whole: training that went on survived it.
core::Severity severity_of(const record::Run& run, const record::Event& event);

/// The worst of what was measured: words alone are notes.
core::Severity worst_of(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

/// - failed, unstable, warning: the worst symptom or event; or a likely cause with nothing worse
/// than notes: warning.
/// - healthy: something shows that the run learns, and nothing speaks against it
/// (diagnosis/health.h). What was told in words shows nothing.
/// - insufficient: all else. That nothing wrong was found is no sign of health.
Standing judge_standing(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                        const Ranking& ranking, const HealthEvidence& health);

std::string write_headline(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                           const Ranking& ranking, const HealthEvidence& health, Standing standing);

}  // namespace aplomb::diagnosis

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
/// - insufficient: nothing was found in next to nothing; or something is clearly wrong in a scrap
/// too small to say why.
/// - healthy: metrics were read and nothing is wrong with them.
Standing judge_standing(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                        const Ranking& ranking);

std::string write_headline(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                           const Ranking& ranking, Standing standing);

}  // namespace aplomb::diagnosis

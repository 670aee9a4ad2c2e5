#pragma once
/// What a tally means: findings for people, with the lines.

#include <aplomb/report.h>

#include <string>
#include <vector>

#include "preflight/data_tally.h"

namespace aplomb::preflight {

std::vector<ReportFinding> data_findings(const DataTally& tally, const std::string& path,
                                         const DataLimits& limits, std::uint64_t micro);

}  // namespace aplomb::preflight

#pragma once
/// The heat map of a checkpoint: layers down, kinds of weights across, one colour a cell.

#include <string>

#include "api/checkpoint_report.h"

namespace aplomb::cli {

/// `page`: the report as HTML; gains a section with the map. A diff shows the share of elements
/// that did not change, a prediction the share of updates lost, a scan the RMS of the weights.
std::string with_heat_map(const std::string& page, const api::CheckpointFindings& findings);

}  // namespace aplomb::cli

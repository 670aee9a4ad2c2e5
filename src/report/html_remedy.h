#pragma once
#include <aplomb/report.h>

#include <string>
#include <vector>

namespace aplomb::report {

/// Remedies in their order, each with its change of settings in every framework that it was
/// rendered for: the user's first, `generic` last, one tab each.
std::string remedies_html(const std::vector<ReportRemedy>& remedies, const std::string& framework);

}  // namespace aplomb::report

#pragma once
/// A run's settings -> what is wrong with them before it starts, by the rules of
/// knowledge/checks.

#include <string>
#include <vector>

#include "core/severity.h"
#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb::preflight {

struct Finding {
  std::string id;
  core::Severity severity = core::Severity::note;
  std::string title;
  std::string because;
  std::vector<record::Origin> evidence;     ///< places in the run's sources
  std::vector<diagnosis::Remedy> remedies;  ///< the first first
  std::vector<std::string> leads_to;
  std::vector<std::string> references;
};

/// Most severe first, then in the book's order.
std::vector<Finding> judge_settings(const record::Run& run);

}  // namespace aplomb::preflight

#pragma once
/// A run's settings -> what is wrong with them before it starts, by the rules of
/// knowledge/checks.

#include <string>
#include <vector>

#include "core/severity.h"
#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb {

struct Finding {
  std::string id;
  Severity severity = Severity::note;
  std::string title;
  std::string because;
  std::vector<Origin> evidence;  ///< places in the run's sources
  std::vector<Remedy> remedies;  ///< the first first
  std::vector<std::string> leads_to;
  std::vector<std::string> references;
};

/// Most severe first, then in the book's order.
std::vector<Finding> judge_settings(const Run& run);

}  // namespace aplomb

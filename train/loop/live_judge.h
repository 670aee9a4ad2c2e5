#pragma once
/// LiveJudge: the detectors of `aplomb diagnose`, fed record by record while the run goes on. Says
/// what they are sure of when they are: the gate of the first ten steps, alarms, and at the end the
/// success criteria and whether the run is healthy.

#include <map>
#include <string>
#include <vector>

#include "detection/bank.h"
#include "detectors/detector.h"
#include "train/loop/journal.h"

namespace aplomb::train::loop {

struct Said {
  core::Severity severity = core::Severity::note;
  std::string text;
};

class LiveJudge {
 public:
  struct Plan {
    std::int64_t total_steps = 0;
    std::int64_t logging_steps = 1;
    double max_grad_norm = 0;
    std::int64_t vocab_size = 0;
  };
  explicit LiveJudge(const Plan& plan);

  /// What is new: of at least `warning`, and the gate whatever it says.
  std::vector<Said> observe(const Record& record);
  /// Everything that is said over the whole, worst first; the gate of the first ten steps only
  /// where observe() has not told it.
  std::vector<Said> finish();
  /// After finish(). What concerns speed alone is no part of it.
  bool healthy() const { return worst_ < core::Severity::warning; }

 private:
  std::vector<Said> fresh(const std::vector<detectors::Symptom>& symptoms, bool last);

  detection::DetectorBank bank_;
  std::map<std::string, core::Severity> told_;  ///< by id and series
  std::int64_t last_step_ = 0;
  std::uint16_t segment_ = 0;
  core::Severity worst_ = core::Severity::note;
};

}  // namespace aplomb::train::loop

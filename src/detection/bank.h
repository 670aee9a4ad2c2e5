#pragma once
/// All detectors over one run, step by step.
///
///     DetectorBank bank(context);
///     for (const detectors::Frame& frame : frames) bank.observe(frame);
///     std::vector<detectors::Symptom> symptoms = bank.finish();

#include <cstdint>
#include <memory>
#include <vector>

#include "detectors/detector.h"

namespace aplomb::detection {

/// A fresh set of every detector of the rosters, in the order of `aplomb list`.
std::vector<std::unique_ptr<detectors::Detector>> make_detectors();

/// Feeds frames to every detector that wants them. A later report of the same symptom on the same
/// series replaces the earlier one: a detector may warn at once and say more (or less) when it has
/// seen the rest. One without a summary takes the earlier one back.
class DetectorBank {
 public:
  explicit DetectorBank(detectors::RunContext context);
  void observe(const detectors::Frame& frame);
  std::vector<detectors::Symptom> finish();
  /// What is said of the run as it stands. Valid until the next call; costs about as finish().
  const std::vector<detectors::Symptom>& so_far();
  const detectors::RunContext& context() const { return context_; }

 private:
  void begin_stage();

  detectors::RunContext context_;
  std::vector<std::unique_ptr<detectors::Detector>> detectors_;
  std::vector<std::uint64_t> wants_;  ///< one bit a role, by detector
  std::vector<std::uint64_t> parts_;  ///< likewise of the parts that it wants
  std::size_t stage_ = 0;             ///< stages that were begun
  std::vector<detectors::Symptom> symptoms_;
  std::vector<detectors::Symptom> fresh_;   ///< what the detectors said just now
  std::vector<detectors::Symptom> so_far_;  ///< symptoms_, and what holds for the moment
};

}  // namespace aplomb::detection

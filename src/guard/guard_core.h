#pragma once
/// GuardCore: what Guard is made of. Apart from it so that a test can put in a policy that fails.

#include <aplomb/guard.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy.h"
#include "guard/step_assessment.h"

namespace aplomb::guard {

class GuardCore {
 public:
  GuardCore(const GuardOptions& options, std::vector<std::unique_ptr<Policy>> policies);

  GuardVerdict step(const GuardStep& step) noexcept;
  void note_snapshot(std::int64_t step) noexcept;
  const GuardCounts& counts() const { return counts_; }
  const GuardOptions& options() const { return options_; }

  std::string save();
  /// False where the bytes are no state of such a guard: this object is of no use then.
  bool load(std::string_view state);

 private:
  struct Snapshot {
    bool taken = false;
    std::int64_t step = 0;
    std::string watches;
  };

  GuardVerdict judge(const GuardStep& step);
  GuardVerdict judge_plainly(const GuardStep& step);
  StepAssessment look(const GuardStep& step, double norm);
  void restore_watches(std::int64_t step);
  void step_aside(GuardVerdict& verdict, std::string_view what);
  void serialize(core::StateArchive& archive);
  void serialize_watches(core::StateArchive& archive);

  GuardOptions options_;
  std::vector<std::unique_ptr<Policy>> policies_;
  SeriesWatch loss_{SeriesWatch::Scale::linear};
  SeriesWatch norm_{SeriesWatch::Scale::logarithmic};
  ClimbWatch climb_;
  std::array<Snapshot, 2> snapshots_;  // older first
  GuardCounts counts_;
  double loss_scale_;  // by which the next loss is multiplied, where the guard keeps it
  bool aside_ = false;
  std::vector<double> group_scales_;
};

}  // namespace aplomb::guard

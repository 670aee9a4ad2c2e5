#pragma once
/// Policy: one rule of the guard. One policy a file; src/guard/roster.def lists them in the order
/// in which they are asked.
///
/// A policy sees the step and the StepAssessment that all of them share, may strengthen the verdict
/// (Decision::raise; the stronger action wins, whoever asked first) and afterwards learns what was
/// decided. It holds no pointer, reads no clock and draws no random number: the same statistics
/// give the same verdict on every rank.
///
/// A new policy: src/guard/<slug>.cpp with `std::unique_ptr<Policy> make_<slug>_policy(const
/// GuardOptions&)`, tests/guard/<slug>_test.cpp, one line in roster.def.

#include <aplomb/guard.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/state_archive.h"
#include "guard/step_assessment.h"

namespace aplomb::guard {

/// Written once; feeds `aplomb list` and `aplomb explain`.
struct PolicySpec {
  std::string_view slug;     ///< `nonfinite`
  std::string_view summary;  ///< one line: what it does, when
  std::string_view source;   ///< paper or documented behaviour that it follows, where it differs
};

/// What is being decided about one step.
class Decision {
 public:
  explicit Decision(GuardVerdict& verdict) : verdict_(verdict) {}

  /// Asks for an action; taken over if it is stronger than what stands.
  void raise(GuardAction action, std::string_view slug, std::string_view text);
  /// Multiplies the gradients by no more than `scale`; tells why unless `text` is empty (a user's
  /// own max_norm is no news).
  void clip(double scale, std::string_view slug, std::string_view text);
  /// Says something that changes no action; a decided action keeps its own reason.
  void alarm(std::string_view slug, std::string_view text);

  GuardVerdict& verdict() { return verdict_; }
  double clip_scale() const { return clip_scale_; }

 private:
  GuardVerdict& verdict_;
  double clip_scale_ = 1;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual const PolicySpec& spec() const = 0;
  virtual void judge(const GuardStep& step, const StepAssessment& assessment,
                     Decision& decision) = 0;
  /// After all policies were asked.
  virtual void settle(const GuardStep&, const StepAssessment&, const GuardVerdict&) {}
  /// The caller has kept a snapshot after `step`.
  virtual void note_snapshot(std::int64_t) {}
  /// The statistics go back to those of a snapshot; what was tried since stays known.
  virtual void serialize(core::StateArchive& archive) = 0;
};

/// Every policy of the roster that `options` switch on, in its order.
std::vector<std::unique_ptr<Policy>> make_policies(const GuardOptions& options);

/// What each policy of the roster is, switched on or not.
std::vector<PolicySpec> policy_specs();

}  // namespace aplomb::guard

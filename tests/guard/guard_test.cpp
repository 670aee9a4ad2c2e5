/// The guard as a whole: it fails open, is deterministic, and its state comes back.

#include <aplomb/guard.h>

#include <stdexcept>

#include "guard/guard_core.h"
#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::k_nan;
using test::Loop;
using test::Noise;

/// A run with everything in it: what it feeds depends on the step alone.
GuardStep eventful(std::int64_t step, GuardGroup& group) {
  Noise noise(static_cast<std::uint64_t>(step) + 1);
  double loss = noise.gauss(2.0 + 8.0 * std::exp(-static_cast<double>(step) / 50.0), 0.05);
  double norm = noise.norm(1.0);
  if (step % 97 == 50) loss = k_nan;
  if (step % 131 == 60) norm = k_nan;
  if (step % 151 == 70) loss *= 3;
  if (step % 173 == 80) norm *= 4;
  if (step >= 700 && step < 712) loss += 4;
  group = std::isfinite(norm) ? GuardGroup{0, norm * norm} : GuardGroup{2, 0};
  return {.step = step, .loss = loss, .lr = 1e-3, .groups = {&group, 1}};
}

void expect_same(const GuardVerdict& a, const GuardVerdict& b, std::int64_t step) {
  EXPECT_EQ(a.action, b.action) << step;
  EXPECT_EQ(a.scale, b.scale) << step;
  EXPECT_EQ(a.lr_factor, b.lr_factor) << step;
  EXPECT_EQ(a.reset_momentum, b.reset_momentum) << step;
  EXPECT_EQ(a.rollback_step, b.rollback_step) << step;
  EXPECT_EQ(a.reason(), b.reason()) << step;
}

TEST(Guard, GoesOnFromASavedStateAsIfNeverInterrupted) {
  for (const std::int64_t cut : {0, 5, 31, 60, 333, 702, 705}) {
    Guard whole({.max_norm = 2.0});
    GuardGroup group;
    for (std::int64_t step = 0; step < cut; ++step) {
      whole.step(eventful(step, group));
      if (step % 100 == 99) whole.note_snapshot(step);
    }
    Guard resumed({.max_norm = 2.0});
    ASSERT_TRUE(resumed.load(whole.save())) << cut;
    EXPECT_EQ(resumed.save(), whole.save());
    for (std::int64_t step = cut; step < 900; ++step) {
      expect_same(whole.step(eventful(step, group)), resumed.step(eventful(step, group)), step);
    }
    EXPECT_EQ(resumed.counts().skipped, whole.counts().skipped);
  }
}

TEST(Guard, StateIsSmall) {
  Loop loop;
  loop.calm(1000);
  loop.guard().note_snapshot(999);
  loop.guard().note_snapshot(999);
  EXPECT_LT(loop.guard().save().size(), 24000U);
}

TEST(Guard, ForeignBytesAreNoState) {
  Loop loop;
  loop.calm(300);
  const std::string state = loop.guard().save();
  Guard guard;
  EXPECT_FALSE(guard.load(""));
  EXPECT_FALSE(guard.load("not a state"));
  EXPECT_FALSE(guard.load(state + "x"));
  for (std::size_t size = 0; size < state.size(); size += 7)
    EXPECT_FALSE(guard.load(std::string_view(state).substr(0, size))) << size;
  // Any damaged byte: refused, or a state that works; never a crash.
  for (std::size_t at = 0; at < state.size(); at += 3) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5A);
    Guard other;
    if (!other.load(damaged)) continue;
    GuardGroup group;
    for (std::int64_t step = 0; step < 40; ++step) other.step(eventful(step, group));
  }
  EXPECT_TRUE(guard.load(state));
}

TEST(Guard, AnotherSetOfPoliciesDoesNotTakeTheState) {
  Guard guard({.lower_lr = false});
  EXPECT_FALSE(guard.load(Guard().save()));
}

class Failing final : public Policy {
 public:
  const PolicySpec& spec() const override {
    static constexpr PolicySpec k_spec{"failing", "", ""};
    return k_spec;
  }
  void judge(const GuardStep& step, const StepAssessment&, Decision&) override {
    if (step.step == 10) throw std::runtime_error("injected");
  }
  void serialize(core::StateArchive&) override {}
};

TEST(Guard, StepsAsideOnceWhenItFailsAndKeepsTheClipping) {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<Failing>());
  GuardCore core({.max_norm = 1.0}, std::move(policies));
  int said = 0;
  for (std::int64_t step = 0; step < 30; ++step) {
    const GuardGroup group{0, 16.0};
    const GuardVerdict verdict =
        core.step({.step = step, .loss = step > 15 ? k_nan : 2.0, .groups = {&group, 1}});
    EXPECT_EQ(verdict.aside, step >= 10);
    if (step >= 10) {
      EXPECT_EQ(verdict.action, GuardAction::clip);
      EXPECT_DOUBLE_EQ(verdict.scale, 1.0 / (4.0 + 1e-6));
    }
    if (!verdict.reason().empty()) {
      ++said;
      EXPECT_NE(verdict.reason().find("injected"), std::string_view::npos);
    }
  }
  EXPECT_EQ(said, 1);
}

TEST(Guard, AReasonIsCutNotOverrun) {
  GuardVerdict verdict;
  verdict.say("test", std::string(10000, 'x'));
  EXPECT_EQ(verdict.reason().size(), GuardVerdict::k_most_reason);
}

TEST(Guard, NoStatisticsAreAlsoAStep) {
  Guard guard;
  EXPECT_EQ(guard.step({.step = 1}).action, GuardAction::proceed);
  EXPECT_EQ(guard.step({.step = 2, .loss = 2.0}).action, GuardAction::proceed);
  EXPECT_EQ(guard.step({.step = 3, .loss = k_nan}).action, GuardAction::skip);
}

TEST(Guard, EveryPolicyOfTheRosterTellsWhatItDoesAndWhomItFollows) {
  std::vector<std::string> roster;
#define APLOMB_MEMBER(slug) roster.emplace_back(#slug);
#include "guard/roster.def"
#undef APLOMB_MEMBER
  std::vector<std::string> told;
  for (const PolicySpec& spec : policy_specs()) {
    told.emplace_back(spec.slug);
    EXPECT_FALSE(spec.summary.empty()) << spec.slug;
    EXPECT_FALSE(spec.source.empty()) << spec.slug;
  }
  EXPECT_EQ(told, roster);
}

}  // namespace
}  // namespace aplomb::guard

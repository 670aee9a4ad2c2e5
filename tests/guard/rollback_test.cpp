#include <algorithm>
#include <cmath>

#include "guard_support.h"

namespace aplomb::guard {
namespace {

using test::k_nan;
using test::Loop;

/// Feeds a loss until the guard asks for something stronger than a skip.
GuardVerdict until_acted(Loop& loop, double loss, int most) {
  GuardVerdict verdict;
  for (int i = 0; i < most && verdict.action < GuardAction::rollback; ++i)
    verdict = loop.feed(loss, 1.0);
  return verdict;
}

TEST(Rollback, GoesBackToTheSnapshotBeforeALossThatStaysUp) {
  Loop loop;
  loop.calm(100);
  loop.guard().note_snapshot(99);
  loop.calm(50);
  const GuardVerdict verdict = until_acted(loop, 7.0, 20);
  ASSERT_EQ(verdict.action, GuardAction::rollback) << verdict.reason();
  EXPECT_EQ(verdict.rollback_step, 99);
  EXPECT_EQ(verdict.skip_steps, static_cast<std::uint64_t>(loop.next() - 1 - 99));
}

TEST(Rollback, TakesNoSnapshotFromTheMidstOfTrouble) {
  Loop loop;
  loop.calm(100);
  loop.guard().note_snapshot(99);
  loop.calm(20);
  for (int i = 0; i < 4; ++i) loop.feed(7.0, 1.0);
  loop.guard().note_snapshot(loop.next() - 1);
  EXPECT_EQ(until_acted(loop, 7.0, 20).rollback_step, 99);
}

TEST(Rollback, AnswersALossThatIsNoLongerANumber) {
  Loop loop;
  loop.calm(100);
  loop.guard().note_snapshot(99);
  EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::skip);
  EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::skip);
  EXPECT_EQ(loop.feed(k_nan, k_nan).action, GuardAction::rollback);
}

TEST(Rollback, VerifiesThatTheLossGoesOn) {
  Loop loop;
  loop.calm(100);
  loop.guard().note_snapshot(99);
  ASSERT_EQ(until_acted(loop, 7.0, 20).action, GuardAction::rollback);
  loop.go_back(100);
  std::string said;
  for (int i = 0; i < 40; ++i) said += loop.feed(loop.noise().gauss(2.0, 0.05), 1.0).reason();
  EXPECT_NE(said.find("it goes on"), std::string::npos) << said;
}

TEST(Rollback, HaltsWhenItsBudgetIsSpent) {
  Loop loop({.rollback_retries = 2});
  loop.calm(100);
  loop.guard().note_snapshot(99);
  std::uint64_t skipped = 0;
  for (int i = 0; i < 2; ++i) {
    const GuardVerdict verdict = until_acted(loop, 7.0, 30);
    ASSERT_EQ(verdict.action, GuardAction::rollback) << i << verdict.reason();
    EXPECT_GT(verdict.skip_steps, skipped) << "a second try leaves out more";
    skipped = verdict.skip_steps;
    loop.go_back(100);
  }
  const GuardVerdict last = until_acted(loop, 7.0, 30);
  EXPECT_EQ(last.action, GuardAction::halt);
  EXPECT_NE(last.reason().find("after 2 rollbacks"), std::string_view::npos) << last.reason();
}

/// In a run this young the fall of the loss counts as noise, and 7.6 is 8 sigma above 2.2, 6.1
/// is 5.
TEST(Rollback, ALossThatWaversFarUpHasNotComeDown) {
  Loop loop;
  for (int i = 0; i < 59; ++i) loop.feed(1.8 + 3.8 * std::exp(-i / 18.0), 1.0);
  loop.guard().note_snapshot(58);
  GuardVerdict verdict;
  for (int i = 0; i < 10 && verdict.action < GuardAction::rollback; ++i)
    verdict = loop.feed(7.6 - 0.24 * i, 1.0);
  EXPECT_EQ(verdict.action, GuardAction::rollback) << verdict.reason();
}

/// A damaged shard: batches 130 to 159 are bad, whatever step they come in.
TEST(Rollback, EachTryGoesOnBehindWhatTheLastOneLeftOut) {
  Loop loop;
  std::int64_t batch = 0;
  std::int64_t kept_batch = 0;
  std::int64_t farthest = 0;
  for (; batch < 120; ++batch) loop.feed(loop.noise().gauss(2.0, 0.05), 1.0);
  loop.guard().note_snapshot(loop.next() - 1);
  kept_batch = batch;
  int rollbacks = 0;
  for (; batch < 400; ++batch) {
    const bool bad = batch >= 130 && batch < 160;
    const GuardVerdict verdict = loop.feed(bad ? 7.0 : loop.noise().gauss(2.0, 0.05), 1.0);
    ASSERT_NE(verdict.action, GuardAction::halt) << verdict.reason();
    if (verdict.action != GuardAction::rollback) continue;
    ++rollbacks;
    const std::int64_t next = kept_batch + static_cast<std::int64_t>(verdict.skip_steps);
    EXPECT_GT(next, std::max(batch, farthest)) << "what went before is not trained on again";
    farthest = next;
    batch = next - 1;
    loop.go_back(verdict.rollback_step + 1);
  }
  EXPECT_GE(rollbacks, 1);
  EXPECT_LE(rollbacks, 3);
}

TEST(Rollback, IsNotAskedForWithoutASnapshot) {
  Loop loop;
  loop.calm(100);
  EXPECT_NE(until_acted(loop, 7.0, 50).action, GuardAction::rollback);
}

}  // namespace
}  // namespace aplomb::guard

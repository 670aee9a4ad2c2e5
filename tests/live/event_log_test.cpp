#include "live/event_log.h"

#include <gtest/gtest.h>

#include <thread>

namespace aplomb::live {
namespace {

using std::chrono::milliseconds;

TEST(EventLog, GivesWhatCameAfterTheLastOneSeen) {
  EventLog log;
  for (int i = 0; i < 5; ++i) log.add("points", "r1", std::to_string(i));
  const EventLog::Batch batch = log.after(3, milliseconds(0));
  ASSERT_EQ(batch.events.size(), 2U);
  EXPECT_EQ(batch.events[0]->data, "3");
  EXPECT_EQ(batch.events[1]->number, 5U);
  EXPECT_FALSE(batch.lost);
  EXPECT_TRUE(log.after(5, milliseconds(1)).events.empty());
}

TEST(EventLog, SaysWhenItDoesNotReachBackThatFar) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::k_most_events + 10; ++i) log.add("points", "r1", "x");
  EXPECT_TRUE(log.after(3, milliseconds(0)).lost);
  EXPECT_FALSE(log.after(10, milliseconds(0)).lost);
  EXPECT_EQ(log.after(10, milliseconds(0)).events.size(), EventLog::k_most_events);
}

TEST(EventLog, IsBoundedInBytes) {
  EventLog log;
  const std::string large(1U << 20U, 'x');
  for (int i = 0; i < 20; ++i) log.add("report", "r1", large);
  EXPECT_LE(log.after(20 - 4, milliseconds(0)).events.size(), 4U);
  EXPECT_TRUE(log.after(1, milliseconds(0)).lost);
}

TEST(EventLog, IdsOfAnotherStartAreNotItsOwn) {
  EventLog log;
  EventLog other;
  log.add("runs", {}, "{}");
  EXPECT_EQ(log.number_of(log.id_of(1)), 1U);
  EXPECT_FALSE(other.number_of(log.id_of(1)));
  for (const char* odd : {"", "7", "-7", "x-y", "0-99999999999999999999999"})
    EXPECT_FALSE(log.number_of(odd)) << odd;
}

TEST(EventLog, WakesWhoWaits) {
  EventLog log;
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    log.add("runs", {}, "news");
  });
  const EventLog::Batch batch = log.after(0, milliseconds(20000));
  later.join();
  ASSERT_EQ(batch.events.size(), 1U);
  EXPECT_EQ(batch.events[0]->data, "news");
}

TEST(EventLog, ClosedNobodyWaits) {
  EventLog log;
  log.close();
  EXPECT_TRUE(log.after(0, milliseconds(60000)).closed);
}

}  // namespace
}  // namespace aplomb::live

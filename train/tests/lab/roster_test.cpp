#include <gtest/gtest.h>

#include <set>

#include "diagnosis/cause_book.h"
#include "train/lab/fault.h"
#include "train/lab/twins.h"

namespace aplomb::train::lab {
namespace {

TEST(Faults, NameThemselvesOnceAndTheirCausesAsTheBookDoes) {
  std::set<std::string> known;
  for (const diagnosis::Cause& each : diagnosis::cause_book().causes) known.insert(each.id);
  std::set<std::string> seen;
  for (const Fault& fault : faults()) {
    EXPECT_TRUE(seen.insert(fault.id).second) << fault.id;
    ASSERT_FALSE(fault.causes.empty()) << fault.id;
    for (const std::string& cause : fault.causes)
      EXPECT_TRUE(known.contains(cause)) << fault.id << ": " << cause;
    EXPECT_EQ(fault.causes.size() > 1, !fault.accept_because.empty()) << fault.id;
    EXPECT_FALSE(fault.summary.empty()) << fault.id;
    EXPECT_FALSE(fault.guard_because.empty()) << fault.id;
    EXPECT_FALSE(fault.harm.text.empty()) << fault.id;
    EXPECT_TRUE(fault.harm.at && fault.run) << fault.id;
    EXPECT_EQ(find_fault(fault.id), &fault);
  }
  EXPECT_GE(seen.size(), 40U);
  EXPECT_EQ(find_fault("nan.no-such"), nullptr);
}

TEST(Twins, AreThirtyAndEachHasANameOfItsOwn) {
  std::set<std::string> seen;
  for (const Twin& each : twins()) EXPECT_TRUE(seen.insert(each.name).second) << each.name;
  EXPECT_GE(seen.size(), 30U);
}

}  // namespace
}  // namespace aplomb::train::lab

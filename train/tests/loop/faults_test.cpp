#include "train/loop/faults.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

namespace aplomb::train::loop {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Faults, MemoryThatRanOutIsToldWithWhatHelps) {
  EXPECT_THAT(told_fault(std::bad_alloc()), HasSubstr("--per-device-train-batch-size"));
  try {
    (void)at::empty({1LL << 50});
    FAIL() << "four pebibytes were had";
  } catch (const std::exception& fault) {
    EXPECT_THAT(
        told_fault(fault),
        AllOf(HasSubstr("out of memory"), HasSubstr("4503599627370496 bytes"),
              Not(HasSubstr("enforce")), Not(HasSubstr("report it")), Not(HasSubstr("\n"))));
  }
}

TEST(Faults, AnythingElseIsNotTakenForIt) {
  EXPECT_THAT(told_fault(std::runtime_error("a\nb")), HasSubstr("please report it: a"));
}

}  // namespace
}  // namespace aplomb::train::loop

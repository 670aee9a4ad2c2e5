#include "compare/student.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aplomb::compare {
namespace {

TEST(Student, AgreesWithThePrintedTables) {
  EXPECT_NEAR(critical_t(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(critical_t(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(critical_t(0.01, 10), 3.169, 5e-4);
  EXPECT_NEAR(critical_t(0.05, 30), 2.042, 5e-4);
  EXPECT_NEAR(critical_t(0.05, 1e6), 1.95996, 1e-4);
}

TEST(Student, HasClosedFormsForOneAndTwoDegreesOfFreedom) {
  for (const double t : {0.01, 0.5, 1.0, 3.0, 40.0, 1e4}) {
    EXPECT_NEAR(two_sided_p(t, 1), 1 - 2 / 3.141592653589793 * std::atan(t), 1e-10) << t;
    EXPECT_NEAR(two_sided_p(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-10) << t;
  }
}

TEST(Student, EndsAreSane) {
  EXPECT_DOUBLE_EQ(two_sided_p(0, 5), 1);
  EXPECT_DOUBLE_EQ(two_sided_p(std::numeric_limits<double>::infinity(), 5), 0);
  EXPECT_TRUE(std::isnan(two_sided_p(std::numeric_limits<double>::quiet_NaN(), 5)));
  EXPECT_DOUBLE_EQ(two_sided_p(-2, 7), two_sided_p(2, 7));
}

}  // namespace
}  // namespace aplomb::compare

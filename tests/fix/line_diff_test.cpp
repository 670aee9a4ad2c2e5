#include "fix/line_diff.h"

#include <gtest/gtest.h>

namespace aplomb::fix {
namespace {

TEST(UnifiedDiff, ShowsAChangedLineWithItsNeighbours) {
  EXPECT_EQ(unified_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n", "x", "y"),
            "--- x\n+++ y\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n");
}

TEST(UnifiedDiff, MakesOneHunkOfNearChangesAndTwoOfFarOnes) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nB\n3\n4\n5\n6\n7\nH\n9\n", "x", "y", 1),
            "--- x\n+++ y\n@@ -1,3 +1,3 @@\n 1\n-2\n+B\n 3\n@@ -7,3 +7,3 @@\n 7\n-8\n+H\n 9\n");
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n", "A\n2\n3\nD\n", "x", "y", 1),
            "--- x\n+++ y\n@@ -1,4 +1,4 @@\n-1\n+A\n 2\n 3\n-4\n+D\n");
}

TEST(UnifiedDiff, CountsLinesPutInBeforeTheFirstAndBehindTheLast) {
  EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(unified_diff("a\n", "a\nb\n", "x", "y"), "--- x\n+++ y\n@@ -1,1 +1,2 @@\n a\n+b\n");
  EXPECT_EQ(unified_diff("a\nb\n", "b\n", "x", "y"), "--- x\n+++ y\n@@ -1,2 +1,1 @@\n-a\n b\n");
}

TEST(UnifiedDiff, IsEmptyForEqualTexts) { EXPECT_EQ(unified_diff("a\n", "a\n", "x", "y"), ""); }

}  // namespace
}  // namespace aplomb::fix

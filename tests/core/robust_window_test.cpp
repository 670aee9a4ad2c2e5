#include "core/robust_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

namespace aplomb::core {
namespace {

TEST(SortedWindow, AgreesWithSortingTheLastSamplesAtEveryUpdate) {
  std::mt19937_64 engine(11);
  std::uniform_int_distribution<int> pick(0, 20);  // many equal values
  SortedWindow<16> window;
  std::deque<double> last;
  for (int i = 0; i < 2000; ++i) {
    const double sample = pick(engine) * 0.5;
    window.push(sample);
    last.push_back(sample);
    if (last.size() > 16) last.pop_front();
    std::vector<double> sorted(last.begin(), last.end());
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(window.size(), sorted.size());
    ASSERT_DOUBLE_EQ(window.least(), sorted.front());
    ASSERT_DOUBLE_EQ(window.most(), sorted.back());
    const std::size_t n = sorted.size();
    ASSERT_DOUBLE_EQ(window.median(), 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]));
  }
}

TEST(SortedWindow, SpreadIsTheStandardDeviationOfGaussianNoise) {
  std::mt19937_64 engine(12);
  std::normal_distribution<double> noise(5, 0.25);
  SortedWindow<256> window;
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    window.push(noise(engine));
    if (i >= 256) sum += window.spread();
  }
  EXPECT_NEAR(sum / (20000 - 256), 0.25, 0.01);
}

TEST(SortedWindow, IsEmptyAfterClear) {
  SortedWindow<4> window;
  for (int i = 0; i < 6; ++i) window.push(i);
  window.clear();
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(std::isnan(window.median()));
  window.push(3);
  EXPECT_DOUBLE_EQ(window.median(), 3);
}

}  // namespace
}  // namespace aplomb::core

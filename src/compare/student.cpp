#include "compare/student.h"

#include <cmath>

namespace aplomb::compare {
namespace {

/// The continued fraction of the incomplete beta function; converges fast for x below the mean.
double beta_fraction(double a, double b, double x) {
  constexpr double k_tiny = 1e-300;
  constexpr double k_close = 1e-14;
  constexpr int k_most_terms = 2000;  // the square root of the largest parameter, and more
  const auto off_zero = [](double value) { return std::fabs(value) < k_tiny ? k_tiny : value; };
  double c = 1;
  double d = 1 / off_zero(1 - (a + b) * x / (a + 1));
  double sum = d;
  for (int term = 1; term <= k_most_terms; ++term) {
    const double m = term;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + even * d);
    c = off_zero(1 + even / c);
    sum *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + odd * d);
    c = off_zero(1 + odd / c);
    sum *= d * c;
    if (std::fabs(d * c - 1) < k_close) break;
  }
  return sum;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) -
                                (std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b)));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double two_sided_p(double t, double freedom) {
  if (std::isnan(t)) return t;
  if (std::isinf(t)) return 0;
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double critical_t(double p, double freedom) {
  double low = 0;
  double high = 1;
  while (two_sided_p(high, freedom) > p && high < 1e12) high *= 2;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (two_sided_p(middle, freedom) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace aplomb::compare

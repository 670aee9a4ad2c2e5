#pragma once
/// Student's t: how surprising a difference is when its noise was estimated from few values.
///
/// Method: P(|T| > t) = I_x(v / 2, 1 / 2) with x = v / (v + t^2) and I the regularised incomplete
/// beta function, by its continued fraction (Abramowitz and Stegun 26.5.8 and 26.7.1; evaluated by
/// Lentz's method). Precision: 1e-10 for 1 to 1e6 degrees of freedom.

namespace aplomb::compare {

/// The chance that |T| is larger than |t|, 0..1. `freedom` > 0. 0 for an infinite t, NaN for a NaN.
double two_sided_p(double t, double freedom);

/// The t beyond which |T| lies with chance `p` (0 < p < 1): two_sided_p's inverse.
double critical_t(double p, double freedom);

}  // namespace aplomb::compare

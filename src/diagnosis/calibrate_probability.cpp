#include "diagnosis/calibrate_probability.h"

#include <algorithm>
#include <cmath>

namespace aplomb::diagnosis {
namespace {

constexpr double k_half = 0.5;
constexpr double k_below_half = 0.49;
/// Next to nothing: something else accounts for the run, or it is healthy.
constexpr double k_noise = 0.03;
constexpr double k_most = 0.9999;  // a share of 1 has no odds

/// A condition of its own holds, beside a symptom that many causes explain and words that many use.
bool has_evidence_of_its_own(const RankedCause& cause) {
  return std::any_of(cause.reasons.begin(), cause.reasons.end(), [](const WeighedReason& why) {
    return why.weight > 0 && why.kind == ReasonKind::rule;
  });
}

double platt(double share, double slope, double offset) {
  const double bounded = std::clamp(share, 1 - k_most, k_most);
  return 1 / (1 + std::exp(-(slope * std::log(bounded / (1 - bounded)) + offset)));
}

double of_evidence(double share, const Calibration& calibration) {
  const double probability = platt(share, calibration.platt_slope, calibration.platt_offset);
  return share >= k_half ? std::max(probability, k_half)
                         : std::max(share, std::min(probability, k_below_half));
}

/// Where what is learnt leads, shares above one half are true and those below are too modest: the
/// first cause is right in 0.4 of the reports whose share for it is anything from 0.05 to 0.45.
double of_text(double share, const Calibration& calibration) {
  if (share >= k_half) return share;
  const double probability =
      platt(share, calibration.text.platt_slope, calibration.text.platt_offset);
  return std::max(share, std::min(probability, k_below_half));
}

}  // namespace

void calibrate_probability(Ranking& ranking, const Calibration& calibration) {
  if (ranking.causes.empty()) return;
  RankedCause& first = ranking.causes.front();
  const double share = first.probability;
  if (ranking.from_text) {
    first.probability = of_text(share, calibration);
  } else if (share >= k_noise && has_evidence_of_its_own(first)) {
    first.probability = of_evidence(share, calibration);
  }
  if (stands_on_words(first))
    first.probability = std::min(first.probability, calibration.text.most);
  const double left = first.probability > share ? (1 - first.probability) / (1 - share) : 1;
  for (std::size_t i = 1; i < ranking.causes.size(); ++i) {
    double& other = ranking.causes[i].probability;
    other = std::min(other * left, first.probability);
  }
  ranking.unknown_probability *= left;
}

}  // namespace aplomb::diagnosis

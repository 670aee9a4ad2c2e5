#include "diagnosis/temper.h"

#include <algorithm>
#include <cmath>

namespace aplomb {
namespace {

constexpr double k_half = 0.5;
constexpr double k_below_half = 0.49;
/// Next to nothing: something else accounts for the run, or it is healthy.
constexpr double k_noise = 0.03;
constexpr double k_most = 0.9999;  // a share of 1 has no odds

/// A condition of its own holds, beside a symptom that many causes explain and words that many use.
bool has_evidence_of_its_own(const RankedCause& cause) {
  return std::any_of(cause.reasons.begin(), cause.reasons.end(), [](const WeighedReason& why) {
    return why.weight > 0 && !why.when.starts_with("explains ") && why.when != k_words_reason;
  });
}

double told(double share, const Calibration& calibration) {
  const double odds = std::min(share, k_most) / (1 - std::min(share, k_most));
  const double tempered = calibration.specific_slope * std::log(odds) + calibration.specific_offset;
  const double probability = 1 / (1 + std::exp(-tempered));
  return share >= k_half ? std::max(probability, k_half)
                         : std::max(share, std::min(probability, k_below_half));
}

}  // namespace

void temper(Ranking& ranking, const Calibration& calibration) {
  if (ranking.causes.empty() || ranking.heard) return;  // that competition is true to its shares
  RankedCause& first = ranking.causes.front();
  const double share = first.probability;
  if (share < k_noise || !has_evidence_of_its_own(first)) return;
  first.probability = told(share, calibration);
  const double left = first.probability > share ? (1 - first.probability) / (1 - share) : 1;
  for (std::size_t i = 1; i < ranking.causes.size(); ++i) {
    double& other = ranking.causes[i].probability;
    other = std::min(other * left, first.probability);
  }
  ranking.unknown_probability *= left;
}

}  // namespace aplomb

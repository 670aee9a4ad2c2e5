#include "core/tail.h"

#include <algorithm>
#include <cmath>

namespace aplomb::core {

void TailWatch::add(double magnitude, std::int32_t id) {
  ++seen_;
  if (!(magnitude > 0)) return;
  if (size_ == k_kept && magnitude <= kept_[size_ - 1].magnitude) return;
  if (size_ < k_kept) ++size_;
  std::size_t at = size_ - 1;
  while (at > 0 && kept_[at - 1].magnitude < magnitude) {
    kept_[at] = kept_[at - 1];
    --at;
  }
  kept_[at] = {magnitude, id};
}

std::size_t TailWatch::outliers(double false_alarm) const {
  // The tail is a small part of what was seen: a tenth, but enough to estimate from.
  const auto tenth = static_cast<std::size_t>(seen_ / 10);
  const std::size_t used = std::min(size_, std::clamp<std::size_t>(tenth, 12, k_kept));
  if (used < 4) return 0;
  // Few samples: the estimate leans on three prior observations of alpha = 4 (tail of noisy losses,
  // bench/detectors).
  constexpr double k_prior_weight = 3;
  constexpr double k_prior_inverse_alpha = 0.25;
  double sum = k_prior_weight * k_prior_inverse_alpha;  // of the normalised spacings below the gap
  double count = k_prior_weight;
  std::size_t found = 0;
  for (std::size_t below = used - 1; below >= 1; --below) {
    // below: index of the first entry under the gap; `below` entries stand above it.
    if (below + 1 < used) {
      // Rank times log spacing is exponential with mean 1 / alpha, whatever stands above (Hill's
      // estimate would be biased here: it assumes that the largest are among the values).
      sum += static_cast<double>(below + 1) *
             std::log(kept_[below].magnitude / kept_[below + 1].magnitude);
      count += 1;
    }
    if (below > used / 2) continue;
    const auto above = static_cast<double>(below);
    const double spacing = above * std::log(kept_[below - 1].magnitude / kept_[below].magnitude);
    // One exponential against the sum of `count` others: F with 2 and 2 * count degrees of freedom.
    const double log_p = -count * std::log1p(spacing / std::max(sum, 1e-12));
    // Sum over j of 1 / (1.65 j^2) is 1: the shares of the false-alarm probability that each gap
    // gets.
    if (log_p < std::log(false_alarm / (1.65 * above * above))) {
      found = std::max(found, below);
      break;
    }
  }
  return found;
}

void TailWatch::serialize(StateArchive& archive) {
  auto size = static_cast<std::uint32_t>(size_);
  archive.field(size);
  if (size > k_kept) return archive.reject();
  for (std::size_t i = 0; i < size; ++i) {
    archive.field(kept_[i].magnitude);
    archive.field(kept_[i].id);
    const bool falls = i == 0 || kept_[i].magnitude <= kept_[i - 1].magnitude;
    if (!(kept_[i].magnitude > 0) || !std::isfinite(kept_[i].magnitude) || !falls)
      return archive.reject();
  }
  size_ = size;
  archive.field(seen_);
  if (seen_ < size_) archive.reject();
}

}  // namespace aplomb::core

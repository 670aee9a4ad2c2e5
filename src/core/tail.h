#pragma once
/// TailWatch: which of the largest deviations stand apart from the rest, whatever the noise is
/// like.
///
/// A fixed number of sigmas calls every heavy-tailed series sick and is deaf where the noise is
/// thin. TailWatch keeps the 64 largest magnitudes and asks the noise itself: under a Pareto tail
/// with index alpha, j * alpha * ln(z_j / z_j+1) of the ordered magnitudes is exponential (Renyi),
/// so a gap that is too wide for the tail *below* it separates outliers from noise. Alpha comes
/// from the spacings below the gap, so the outliers do not poison it. Thin tails give a large alpha
/// and a small gap suffices; Student t3 noise has alpha = 3 and needs a wide one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/state_archive.h"

namespace aplomb::core {

class TailWatch {
 public:
  static constexpr std::size_t k_kept = 64;
  struct Entry {
    double magnitude = 0;
    std::int32_t id = -1;  ///< the caller's: which event this was; -1 for none
  };

  void add(double magnitude, std::int32_t id = -1);
  std::uint64_t seen() const { return seen_; }

  /// How many of the largest magnitudes stand apart at `false_alarm` (probability that noise alone
  /// gives such a gap anywhere). The entries come sorted, largest first, so the first `outliers()`
  /// of them are meant.
  std::size_t outliers(double false_alarm) const;
  std::span<const Entry> largest() const { return {kept_.data(), size_}; }

  void serialize(StateArchive& archive);

 private:
  std::array<Entry, k_kept> kept_{};  // sorted, largest first
  std::size_t size_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace aplomb::core

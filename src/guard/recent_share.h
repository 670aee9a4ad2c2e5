#pragma once
/// RecentShare: how many of the last 128 steps were of a kind, and whether that is more than this
/// run is used to.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/state_archive.h"

namespace aplomb::guard {

class RecentShare {
 public:
  /// True where the share is rising: at least k_least_hits in the window, and k_times as often as in all
  /// steps before the window.
  bool add(bool hit) {
    std::uint64_t& word = bits_[next_ / 64];
    const std::uint64_t bit = std::uint64_t{1} << (next_ % 64);
    if ((word & bit) != 0) ++earlier_hits_;
    word = hit ? word | bit : word & ~bit;
    next_ = (next_ + 1) % k_window;
    ++steps_;
    if (!hit || count() < k_least_hits) return false;
    const std::uint64_t earlier = steps_ > k_window ? steps_ - k_window : 0;
    // count / window >= times * earlier_hits / earlier, without a division
    return std::uint64_t{count()} * earlier >= k_times * earlier_hits_ * k_window;
  }
  std::uint32_t count() const {
    return static_cast<std::uint32_t>(std::popcount(bits_[0]) + std::popcount(bits_[1]));
  }
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(steps_, k_window));
  }

  void serialize(core::StateArchive& archive) {
    for (std::uint64_t& word : bits_) archive.field(word);
    archive.field(next_);
    archive.field(steps_);
    archive.field(earlier_hits_);
    if (next_ >= k_window) archive.reject();
  }

 private:
  static constexpr std::uint32_t k_window = 128;    // OLMo-core's window
  static constexpr std::uint32_t k_least_hits = 4;  // three single bad batches in 128 are no trend
  static constexpr std::uint64_t k_times = 4;

  std::array<std::uint64_t, 2> bits_{};
  std::uint32_t next_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t earlier_hits_ = 0;  // of the steps that left the window
};

}  // namespace aplomb::guard

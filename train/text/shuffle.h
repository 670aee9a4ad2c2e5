#pragma once
/// Random orders that are the same on every machine and in every build (the standard library's are
/// not).

#include <cstdint>
#include <utility>
#include <vector>

namespace aplomb::train::text {

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, passes BigCrush.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// Below `bound` (> 0), each equally likely (Lemire 2019).
  std::uint64_t below(std::uint64_t bound) {
    using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t least = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < least)
        product = static_cast<Wide>(next()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64U);
  }

 private:
  std::uint64_t state_;
};

/// Fisher and Yates.
template <class T>
void shuffle(std::vector<T>& items, SplitMix& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(random.below(i))]);
}

/// Mixes a word into a running hash (for fingerprints, and for seeds made from several numbers).
inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return SplitMix(hash ^ (word * 0xD6E8FEB86659FD93U)).next();
}

}  // namespace aplomb::train::text

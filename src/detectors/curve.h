#pragma once
/// Curve: the shape of a whole series as slow judgements see it: where it started, its best level,
/// where it ends, how noisy its levels are. Made from a BlockSummary whenever a block is complete;
/// costs about 1 us.

#include <array>
#include <cstdint>
#include <span>

#include "core/block_summary.h"

namespace aplomb::detectors {

struct Curve {
  std::size_t size = 0;  ///< blocks
  std::uint64_t samples = 0;
  double start = 0;  ///< level of the first block (of three, where blocks are single samples)
  double best = 0;   ///< lowest smoothed level that at least two blocks follow
  std::size_t best_index = 0;
  std::int64_t first_step = 0;
  std::int64_t best_step = 0;
  std::int64_t last_step = 0;
  double peak = 0;              ///< highest smoothed level after the best
  double after_best_least = 0;  ///< lowest smoothed level from the third block after the best on
  double after_best_share = 0;  ///< of the blocks that come after those
  double last = 0;              ///< median of the last tenth (at least three blocks)
  double tail_least = 0;        ///< lowest level among those
  double tail_most = 0;
  double noise = 0;         ///< sigma of one block's level about its neighbours
  double sudden_share = 0;  ///< of the rise best -> last, how much happened within three blocks
  std::int64_t sudden_step = 0;

  std::array<double, core::BlockSummary::k_blocks + 1> level{};
  std::array<double, core::BlockSummary::k_blocks + 1> smooth{};  ///< median of three neighbours

  double middle = 0;  ///< median of the levels of the second half

  double rise() const { return last - best; }
  double progress() const { return start - best; }
  double ratio() const { return best > 0 ? last / best : 1.0; }
  /// Share of the progress that the rise took back; 0 where there was none.
  double lost() const { return progress() > 0 ? rise() / progress() : 0.0; }
};

/// Empty (size 0) below three blocks.
Curve curve_of(const core::BlockSummary& summary);

}  // namespace aplomb::detectors

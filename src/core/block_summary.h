#pragma once
/// BlockSummary: a whole series, however long, as at most 64 equal blocks with their quantiles:
/// what slow judgements (divergence, plateau, drift, overfitting) look at. O(1) memory (8 KB); when
/// 64 blocks are full, neighbours merge and the blocks become twice as long. Blocks hold one sample
/// at first, so short scraps keep every value.
///
/// A block keeps 8 evenly spaced quantiles of its samples; merging two blocks sorts their 16 and
/// keeps every other, so the level (their median) withstands outliers however often blocks were
/// merged. Blocks longer than 64 samples look at every n-th sample (the extremes stay exact).
///
/// Input: finite samples only. Cost: about 15 ns a sample.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/robust_window.h"

namespace aplomb::core {

class Block {
 public:
  static constexpr std::size_t k_quantiles = 8;

  /// The median of the block's samples.
  double level() const;
  /// Sigma of Gaussian noise with the block's quartiles; 0 for blocks of fewer than 4 samples.
  double spread() const;

  double least = 0;  ///< smallest sample, exact
  double most = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::uint64_t count = 0;

 private:
  friend class BlockSummary;
  static Block merged(const Block& a, const Block& b);
  void take(const SortedWindow<64>& samples);

  std::array<double, k_quantiles> quantiles_{};
  std::size_t size_ = 0;
};

class BlockSummary {
 public:
  static constexpr std::size_t k_blocks = 64;

  /// True when this sample completed a block: the moment to look again.
  bool add(std::int64_t step, double sample);

  /// The blocks, oldest first: the complete ones, and the open one once it holds half of a block's
  /// samples.
  std::span<const Block> blocks() const {
    return {blocks_.data(), size_ + (open_counts() ? 1U : 0U)};
  }
  std::uint64_t width() const { return width_; }  ///< samples in a complete block
  std::uint64_t count() const { return count_; }

 private:
  bool open_counts() const {
    return blocks_[size_].count * 2 >= width_ && blocks_[size_].count > 0;
  }
  void merge_neighbours();

  std::array<Block, k_blocks + 1> blocks_{};  // blocks_[size_] is the open one
  std::size_t size_ = 0;
  std::uint64_t width_ = 1;
  std::uint64_t count_ = 0;
  SortedWindow<64> samples_;  // of the open block
};

}  // namespace aplomb::core

#include "core/block_summary.h"

#include <algorithm>

namespace aplomb::core {

double Block::level() const {
  if (size_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return 0.5 * (quantiles_[(size_ - 1) / 2] + quantiles_[size_ / 2]);
}

double Block::spread() const {
  if (size_ < 4) return 0;
  // Of 8 mid-point quantiles the second and the seventh stand at 3/16 and 13/16: +-0.887 sigma.
  const double share = size_ == k_quantiles ? 0.887 : 0.8;
  return (quantiles_[size_ - 2] - quantiles_[1]) / (2 * share);
}

void Block::take(const SortedWindow<64>& samples) {
  size_ = std::min(samples.size(), k_quantiles);
  for (std::size_t i = 0; i < size_; ++i) {
    quantiles_[i] =
        samples.size() <= k_quantiles
            ? samples.quantile(size_ == 1 ? 0.0
                                          : static_cast<double>(i) / static_cast<double>(size_ - 1))
            : samples.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(k_quantiles));
  }
}

Block Block::merged(const Block& a, const Block& b) {
  Block both;
  both.least = std::min(a.least, b.least);
  both.most = std::max(a.most, b.most);
  both.first_step = a.first_step;
  both.last_step = b.last_step;
  both.count = a.count + b.count;
  std::array<double, 2 * k_quantiles> all{};
  std::merge(a.quantiles_.begin(), a.quantiles_.begin() + static_cast<std::ptrdiff_t>(a.size_),
             b.quantiles_.begin(), b.quantiles_.begin() + static_cast<std::ptrdiff_t>(b.size_),
             all.begin());
  const std::size_t size = a.size_ + b.size_;
  if (size <= k_quantiles) {
    std::copy_n(all.begin(), size, both.quantiles_.begin());
    both.size_ = size;
    return both;
  }
  // One of each pair of neighbours (of 16): the inner one, so that an outlier at either end falls
  // away.
  both.size_ = k_quantiles;
  for (std::size_t i = 0; i < k_quantiles; ++i) {
    const std::size_t from = i * size / k_quantiles;
    const std::size_t to = std::max(from, (i + 1) * size / k_quantiles - 1);
    both.quantiles_[i] = i < k_quantiles / 2 ? all[to] : all[from];
  }
  return both;
}

bool BlockSummary::add(std::int64_t step, double sample) {
  Block& open = blocks_[size_];
  if (open.count == 0) {
    open = Block{};
    open.first_step = step;
    open.least = sample;
    open.most = sample;
  }
  open.least = std::min(open.least, sample);
  open.most = std::max(open.most, sample);
  open.last_step = step;
  const std::uint64_t stride = std::max<std::uint64_t>(1, width_ / 64);
  if (open.count % stride == 0) samples_.push(sample);
  ++open.count;
  ++count_;
  if (open.count < width_) {
    if (open.count * 2 >= width_) open.take(samples_);
    return false;
  }
  open.take(samples_);
  samples_.clear();
  ++size_;
  blocks_[size_].count = 0;
  if (size_ == k_blocks) merge_neighbours();
  return true;
}

void BlockSummary::merge_neighbours() {
  for (std::size_t i = 0; i < k_blocks / 2; ++i)
    blocks_[i] = Block::merged(blocks_[2 * i], blocks_[2 * i + 1]);
  size_ = k_blocks / 2;
  blocks_[size_].count = 0;
  width_ *= 2;
}

}  // namespace aplomb::core

#include "train/text/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/text/shuffle.h"

namespace aplomb::train::text {

std::string Dataset::where(std::uint64_t number) const {
  const Origin& origin = origins_[number];
  return fmt::format("{}:{} (row {})", files_[origin.file], origin.line, origin.row);
}

core::Result<DataSplit> Dataset::split(const SplitOptions& options) const {
  const std::uint64_t all = size();
  if (options.samples < 0 || !(options.share >= 0 && options.share < 1))
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[data] validation of {} samples or a share of {}: samples must be 0 or "
                    "more, the share from 0 to below 1",
                    options.samples, options.share));
  auto held = static_cast<std::uint64_t>(options.samples);
  const bool asked = options.samples > 0 || options.share > 0;
  if (options.samples == 0)
    held = static_cast<std::uint64_t>(std::llround(options.share * static_cast<double>(all)));
  if (asked && held == 0) held = 1;
  if (held >= all)
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[data] {} of {} samples for validation leave none to train on; hold back "
                    "fewer, or give a file of its own for validation",
                    held, all));
  std::vector<std::uint64_t> order(all);
  for (std::uint64_t i = 0; i < all; ++i) order[i] = i;
  SplitMix random(mixed(options.seed, 0x73706C6974));
  shuffle(order, random);
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(held);
  DataSplit split{.train = {border, order.end()}, .validation = {order.begin(), border}};
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.validation.begin(), split.validation.end());
  return split;
}

}  // namespace aplomb::train::text

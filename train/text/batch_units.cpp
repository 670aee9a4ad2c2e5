#include "train/text/batch_units.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace aplomb::train::text {

std::vector<std::vector<std::uint32_t>> pack_best_fit(std::span<const std::int64_t> lengths,
                                                      std::int64_t room) {
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<std::uint32_t>> bins;
  std::map<std::int64_t, std::vector<std::uint32_t>> by_room;  // bins with that much room left
  for (const std::uint32_t item : order) {
    std::uint32_t bin = 0;
    std::int64_t left = room;
    const auto fullest = by_room.lower_bound(lengths[item]);
    if (fullest == by_room.end()) {
      bin = static_cast<std::uint32_t>(bins.size());
      bins.emplace_back();
    } else {
      left = fullest->first;
      bin = fullest->second.back();
      fullest->second.pop_back();
      if (fullest->second.empty()) by_room.erase(fullest);
    }
    bins[bin].push_back(item);
    by_room[left - lengths[item]].push_back(bin);
  }
  return bins;
}

}  // namespace aplomb::train::text

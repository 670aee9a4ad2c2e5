#include "train/text/bpe.h"

#include <algorithm>
#include <functional>

#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {
constexpr std::size_t k_short = 64;  ///< symbols: up to here a scan beats the heap (measured)
}

void Bpe::encode_word(std::string_view word, BpeScratch& scratch,
                      std::vector<std::int32_t>& out) const {
  if (word.empty()) return;
  if (ignore_merges_) {
    const std::int32_t id = (on_bytes_ ? words_ : vocabulary_).get(word);
    if (id >= 0) {
      out.push_back(id);
      return;
    }
  }
  scratch.ids.clear();
  if (on_bytes_) {
    symbols_of_bytes(word, scratch.ids);
  } else {
    symbols_of_text(word, scratch);
  }
  if (scratch.ids.size() <= k_short) {
    merge_short(scratch);
  } else {
    merge_long(scratch);
  }
  out.insert(out.end(), scratch.ids.begin(), scratch.ids.end());
}

void Bpe::symbols_of_bytes(std::string_view word, std::vector<std::int32_t>& ids) const {
  for (const char c : word) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) ids.push_back(id);
  }
}

std::string_view Bpe::spelled(std::string_view word, std::size_t begin, std::size_t end,
                              std::string& memory) const {
  const bool first = begin == 0;
  const bool last = end == word.size();
  const std::string_view symbol = word.substr(begin, end - begin);
  if ((first || prefix_.empty()) && (!last || suffix_.empty())) return symbol;
  memory = first ? "" : prefix_;
  memory += symbol;
  if (last) memory += suffix_;
  return memory;
}

bool Bpe::append_fallback(std::string_view symbol, std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  for (const char c : symbol) {
    ids.push_back(fallback_ids_[static_cast<unsigned char>(c)]);
    if (ids.back() >= 0) continue;
    ids.resize(before);
    return false;
  }
  return true;
}

void Bpe::symbols_of_text(std::string_view word, BpeScratch& scratch) const {
  bool unknown_waits = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t begin = at;
    next_valid(word, at);
    const std::string_view symbol = spelled(word, begin, at, scratch.symbol);
    const std::int32_t id = vocabulary_.get(symbol);
    if (id >= 0) {
      if (unknown_waits) scratch.ids.push_back(unknown_);
      unknown_waits = false;
      scratch.ids.push_back(id);
      continue;
    }
    if (byte_fallback_ && append_fallback(symbol, scratch.ids)) continue;
    if (unknown_ < 0) continue;  // no token for it: the character is lost, as in `tokenizers`
    if (unknown_waits && !fuse_unknown_) scratch.ids.push_back(unknown_);
    unknown_waits = true;
  }
  if (unknown_waits) scratch.ids.push_back(unknown_);
}

void Bpe::merge_short(BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.ids;
  std::array<std::uint32_t, k_short> ranks{};
  std::size_t count = ids.size();
  for (std::size_t i = 0; i + 1 < count; ++i) ranks[i] = rank_of(ids[i], ids[i + 1]);
  while (count > 1) {
    const auto least =
        std::min_element(ranks.begin(), ranks.begin() + static_cast<long>(count - 1));
    if (*least == k_no_merge) break;
    const auto at = static_cast<std::size_t>(least - ranks.begin());
    ids[at] = find_merge(ids[at], ids[at + 1])->made;
    std::copy(ids.begin() + static_cast<long>(at) + 2, ids.begin() + static_cast<long>(count),
              ids.begin() + static_cast<long>(at) + 1);
    std::copy(least + 2, ranks.begin() + static_cast<long>(std::max(count - 1, at + 2)), least + 1);
    --count;
    if (at + 1 < count) ranks[at] = rank_of(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = rank_of(ids[at - 1], ids[at]);
  }
  ids.resize(count);
}

void Bpe::merge_long(BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.ids;
  const std::size_t count = ids.size();
  scratch.next.resize(count);
  scratch.previous.resize(count);
  scratch.ranks.assign(count, k_no_merge);
  scratch.heap.clear();
  const auto enter = [&](std::size_t at) {  // the pair that begins at `at`
    const std::int32_t after = scratch.next[at];
    const std::uint32_t rank =
        after < 0 ? k_no_merge : rank_of(ids[at], ids[static_cast<std::size_t>(after)]);
    scratch.ranks[at] = rank;
    if (rank != k_no_merge) scratch.heap.push_back((std::uint64_t{rank} << 32U) | at);
    return rank != k_no_merge;
  };
  for (std::size_t i = 0; i < count; ++i) {
    scratch.next[i] = i + 1 < count ? static_cast<std::int32_t>(i + 1) : -1;
    scratch.previous[i] = static_cast<std::int32_t>(i) - 1;
  }
  for (std::size_t i = 0; i < count; ++i) enter(i);
  std::make_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
    const std::uint64_t top = scratch.heap.back();
    scratch.heap.pop_back();
    const auto at = static_cast<std::size_t>(top & 0xFFFFFFFFU);
    if (ids[at] < 0 || scratch.ranks[at] != top >> 32U) continue;  // that pair is gone
    const auto after = static_cast<std::size_t>(scratch.next[at]);
    ids[at] = find_merge(ids[at], ids[after])->made;
    ids[after] = -1;
    scratch.next[at] = scratch.next[after];
    if (scratch.next[at] >= 0)
      scratch.previous[static_cast<std::size_t>(scratch.next[at])] = static_cast<std::int32_t>(at);
    if (enter(at)) std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
    const std::int32_t before = scratch.previous[at];
    if (before >= 0 && enter(static_cast<std::size_t>(before)))
      std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
  }
  std::erase_if(ids, [](std::int32_t id) { return id < 0; });
}

}  // namespace aplomb::train::text

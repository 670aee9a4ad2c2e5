#pragma once
/// WordCache: words met before -> their ids. Bounded: when it is full it starts again empty, which
/// costs less than choosing what to keep (texts repeat a few thousand words, and those come back
/// within the next pages). Small at first: a cache for one text costs next to nothing.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::train::text {

class WordCache {
 public:
  static constexpr std::size_t k_longest = 48;  ///< bytes of a word; longer ones hardly repeat

  WordCache() : slots_(k_first_slots) {}

  /// Valid until the next put().
  std::optional<std::span<const std::int32_t>> get(std::string_view word) const {
    const Slot& slot = slots_[find(word)];
    if (slot.size == 0) return std::nullopt;
    return std::span(ids_).subspan(slot.ids_at, slot.ids);
  }

  /// A word that get() did not find; not empty, at most k_longest bytes.
  void put(std::string_view word, std::span<const std::int32_t> ids) {
    if (count_ * 2 >= slots_.size()) make_room();
    Slot& slot = slots_[find(word)];
    slot = {.at = static_cast<std::uint32_t>(bytes_.size()),
            .ids_at = static_cast<std::uint32_t>(ids_.size()),
            .size = static_cast<std::uint16_t>(word.size()),
            .ids = static_cast<std::uint16_t>(ids.size())};
    bytes_ += word;
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    ++count_;
  }

 private:
  static constexpr std::size_t k_first_slots = std::size_t{1} << 8U;
  static constexpr std::size_t k_most_slots = std::size_t{1} << 16U;
  struct Slot {
    std::uint32_t at = 0;
    std::uint32_t ids_at = 0;
    std::uint16_t size = 0;  ///< 0: free
    std::uint16_t ids = 0;
  };

  std::size_t find(std::string_view word) const {
    std::size_t at = std::hash<std::string_view>()(word) & (slots_.size() - 1);
    while (slots_[at].size != 0 &&
           std::string_view(bytes_).substr(slots_[at].at, slots_[at].size) != word)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void make_room() {
    if (slots_.size() >= k_most_slots) {
      slots_.assign(slots_.size(), Slot{});
      bytes_.clear();
      ids_.clear();
      count_ = 0;
      return;
    }
    std::vector<Slot> old(slots_.size() * 4);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.size > 0) slots_[find(std::string_view(bytes_).substr(slot.at, slot.size))] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::string bytes_;
  std::vector<std::int32_t> ids_;
  std::size_t count_ = 0;
};

}  // namespace aplomb::train::text

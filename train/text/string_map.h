#pragma once
/// StringMap: texts -> small numbers, for vocabularies of 10^5 tokens. The texts lie one after the
/// other in one piece of memory; a look-up costs one hash and, mostly, one comparison.

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::train::text {

class StringMap {
 public:
  static constexpr std::int32_t k_none = -1;

  /// Room for `count` texts of together `bytes` bytes.
  void reserve(std::size_t count, std::size_t bytes) {
    bytes_.reserve(bytes);
    entries_.reserve(count);
    if (count * 2 > slots_.size()) rehash(std::bit_ceil(count * 2 + 16));
  }

  /// The last value given to a text holds.
  void put(std::string_view text, std::int32_t value) {
    if ((entries_.size() + 1) * 2 > slots_.size()) rehash(std::bit_ceil(entries_.size() * 4 + 16));
    std::uint32_t& slot = slots_[find_slot(text)];
    if (slot != 0) {
      entries_[slot - 1].value = value;
      return;
    }
    entries_.push_back(
        {.at = bytes_.size(), .size = static_cast<std::uint32_t>(text.size()), .value = value});
    bytes_ += text;
    slot = static_cast<std::uint32_t>(entries_.size());
  }

  /// Its number; k_none where it has none.
  std::int32_t get(std::string_view text) const {
    if (slots_.empty()) return k_none;
    const std::uint32_t slot = slots_[find_slot(text)];
    return slot == 0 ? k_none : entries_[slot - 1].value;
  }

  std::size_t size() const { return entries_.size(); }
  template <class Each>
  void for_each(Each&& each) const {
    for (const Entry& entry : entries_) each(text_of(entry), entry.value);
  }

 private:
  struct Entry {
    std::size_t at = 0;
    std::uint32_t size = 0;
    std::int32_t value = 0;
  };

  std::string_view text_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.at, entry.size);
  }
  std::size_t find_slot(std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(text) & mask;
    while (slots_[at] != 0 && text_of(entries_[slots_[at] - 1]) != text) at = (at + 1) & mask;
    return at;
  }
  void rehash(std::size_t slots) {
    slots_.assign(slots, 0);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      slots_[find_slot(text_of(entries_[i]))] = static_cast<std::uint32_t>(i + 1);
  }

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< 0: free; else an entry's number + 1
};

}  // namespace aplomb::train::text

#pragma once
/// LiteralFilter: finds which of some hundred literal pieces stand in a line, in one pass and at
/// nearly no cost where none does.
///
///     LiteralFilter filter;
///     filter.add("CUDA out of memory", 7);
///     filter.build();
///     filter.scan(line, [](std::uint32_t owner, std::size_t position) { ... });
///
/// Letters match in either case (ASCII). Method: of each literal the five bytes that are rarest in
/// logs are its window; a window covers exactly one of the 4-byte grams that start at every second
/// byte of the text, so only those are looked up, in a bit table that stays in the first-level
/// cache (the sampling idea of Wu and Manber, 1994, with grams in place of shifts). A hit is
/// verified against the whole literal.
///
/// `add` and `build` allocate; `scan` does not, and is safe from several threads.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::core {

class LiteralFilter {
 public:
  static constexpr std::size_t k_least_literal =
      5;  ///< bytes of the shortest literal; shorter ones are refused

  /// False, and nothing is added, where the literal is shorter than k_least_literal.
  bool add(std::string_view literal, std::uint32_t owner);
  void build();

  /// Calls `on_hit(owner, position)` for each literal that stands in the text; one that stands
  /// there twice is told twice. The order is that of the text but for literals that overlap.
  template <class OnHit>
  void scan(std::string_view text, OnHit&& on_hit) const {
    if (text.size() < k_least_literal) return;
    const std::size_t end = text.size() - k_gram + 1;
    std::size_t at = 0;
    for (; at + 7 * k_stride < end; at += 8 * k_stride) {
      std::uint32_t any = 0;
      for (std::size_t i = 0; i < 8; ++i) any |= probe(gram(text.data() + at + i * k_stride));
      if (any == 0) continue;
      for (std::size_t i = 0; i < 8; ++i) verify(text, at + i * k_stride, on_hit);
    }
    for (; at < end; at += k_stride) verify(text, at, on_hit);
  }

 private:
  static constexpr std::size_t k_gram = 4;
  static constexpr std::size_t k_stride = k_least_literal - k_gram + 1;
  static constexpr unsigned k_bits = 18;  ///< 2^18 bits = 32 KiB: the first-level cache

  static constexpr std::uint32_t k_none = 0xFFFFFFFFU;

  struct Literal {
    std::string folded;
    std::uint32_t owner = 0;
  };
  struct Place {  ///< one gram of a literal's window
    std::uint32_t gram = 0;
    std::uint32_t literal = 0;
    std::uint32_t offset = 0;  ///< of the gram in the literal
    std::uint32_t size = 0;    ///< of the literal
    std::uint32_t other = 0;   ///< a second gram of it, to turn most false hits away
    std::uint32_t other_offset = 0;
  };

  /// The next four bytes with the bit that tells letter cases apart set. It merges a few other
  /// characters too, which only costs a verification.
  static std::uint32_t gram(const char* text) {
    std::uint32_t word = 0;
    std::memcpy(&word, text, k_gram);
    return word | 0x20202020U;
  }
  static std::uint32_t hash(std::uint32_t word) { return (word * 0x9E3779B1U) >> (32U - k_bits); }
  std::uint32_t probe(std::uint32_t word) const {
    const std::uint32_t bit = hash(word);
    return (table_[bit >> 5U] >> (bit & 31U)) & 1U;
  }

  template <class OnHit>
  void verify(std::string_view text, std::size_t at, OnHit&& on_hit) const {
    const std::uint32_t word = gram(text.data() + at);
    if (probe(word) == 0) return;
    for (std::size_t i = first_place(word); i < places_.size() && places_[i].gram == word; ++i) {
      const Place& place = places_[i];
      const std::size_t begin = at - place.offset;
      if (at < place.offset || text.size() - begin < place.size) continue;
      if (gram(text.data() + begin + place.other_offset) != place.other) continue;
      const Literal& literal = literals_[place.literal];
      if (stands_at(text, begin, literal.folded)) on_hit(literal.owner, begin);
    }
  }

  /// The first place of the gram, or places_.size().
  std::size_t first_place(std::uint32_t word) const {
    for (std::uint32_t slot = hash(word);; ++slot) {
      const std::uint32_t place = slots_[slot & slot_mask()];
      if (place == k_none) return places_.size();
      if (places_[place].gram == word) return place;
    }
  }
  std::uint32_t slot_mask() const { return static_cast<std::uint32_t>(slots_.size()) - 1; }
  static bool stands_at(std::string_view text, std::size_t at, std::string_view folded);

  std::vector<Literal> literals_;
  std::vector<Place> places_;         ///< by gram
  std::vector<std::uint32_t> slots_;  ///< open addressing: the first place of a gram, or k_none
  std::array<std::uint32_t, (1U << k_bits) / 32> table_{};
};

}  // namespace aplomb::core

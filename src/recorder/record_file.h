#pragma once
/// The layout of a step record, shared by the writer here and the reader in src/sources. All
/// numbers are little-endian.
///
///     0      RecordHead, padded to k_head_bytes
///     4096   text table: entries of a TextHead and its bytes, each padded to 16; a size of 0 ends
///            it. Names have an ordinal, reasons are found by their place.
///     then   `slots` RecordSlots: record n (from 1) lies in slot (n - 1) % slots
///
/// A slot is valid where its checksum, which covers the sequence number, is right and the number
/// belongs to the slot. The writer clears the number, writes the body, then the number: a slot with
/// number 0 and a body was being written when the process ended.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aplomb::recorder {

static_assert(std::endian::native == std::endian::little, "the layout is written as it lies");

inline constexpr std::string_view k_magic{
    "\x89"
    "APLREC\n",
    8};
inline constexpr std::uint32_t k_version = 1;
inline constexpr std::size_t k_head_bytes = 4096;
inline constexpr std::uint32_t k_most_slots = 1U << 19U;
inline constexpr std::uint32_t k_least_text = 4096;
inline constexpr std::uint32_t k_most_text = 1U << 24U;
inline constexpr std::size_t k_text_align = 16;
inline constexpr std::size_t k_most_text_entry = 1024;

struct RecordHead {
  char magic[8];
  std::uint32_t version;
  std::uint32_t slots;
  std::uint32_t text_bytes;
  std::int32_t rank;
  std::uint32_t reserved;
  std::uint32_t checksum;  ///< of the bytes before it
};
static_assert(sizeof(RecordHead) == 32);

enum class TextKind : std::uint16_t { name = 1, text = 2 };

struct TextHead {
  std::uint32_t size;      ///< written last; 0: no entry (yet)
  std::uint32_t checksum;  ///< of kind, ordinal and the bytes
  std::uint16_t kind;
  std::uint16_t ordinal;  ///< of a name
  std::uint32_t reserved;
};
static_assert(sizeof(TextHead) == k_text_align);

struct RecordSlot {
  std::uint64_t sequence;  ///< written last; 0: empty, or being written
  std::uint32_t checksum;  ///< of all else, the sequence number too
  std::uint16_t value_count;
  std::uint8_t action;
  std::uint8_t reserved;
  std::int64_t step;
  double time_s;
  double value[8];
  std::uint16_t name[8];
  std::uint32_t policy;  ///< place in the text table / k_text_align, + 1; 0: none
  std::uint32_t reason;  ///< likewise
  std::uint64_t spare;
};
static_assert(sizeof(RecordSlot) == 128 && offsetof(RecordSlot, step) == 16 &&
              offsetof(RecordSlot, name) == 96);

std::uint32_t checksum_of(const RecordHead& head);
/// `body`: the slot from `step` on. `counts`: value_count | action << 16.
std::uint32_t checksum_of(std::string_view body, std::uint32_t counts, std::uint64_t sequence);
std::uint32_t checksum_of(const RecordSlot& slot);
std::uint32_t checksum_of(const TextHead& head, std::string_view bytes);

/// Empty: the head is good. Else why not.
std::string fault_in(const RecordHead& head);
std::uint64_t file_bytes(const RecordHead& head);

struct TextEntry {
  TextKind kind = TextKind::text;
  std::uint16_t ordinal = 0;
  std::string_view text;
  std::size_t next = 0;  ///< place of the entry after it
};
/// The entry at byte `place` of the text table; nothing where none is or it is damaged.
std::optional<TextEntry> text_at(std::string_view table, std::size_t place);

enum class SlotState : std::uint8_t { empty, in_flight, damaged, good };
SlotState state_of(const RecordSlot& slot, std::uint32_t index, std::uint32_t slots);

}  // namespace aplomb::recorder

#include "recorder/record_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/crc32c.h"

namespace aplomb::recorder {
namespace {

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

constexpr std::size_t k_body_begin = offsetof(RecordSlot, step);

}  // namespace

std::uint32_t checksum_of(const RecordHead& head) {
  return core::crc32c(bytes_of(&head, offsetof(RecordHead, checksum)));
}

std::uint32_t checksum_of(std::string_view body, std::uint32_t counts, std::uint64_t sequence) {
  // Numbers come in by products with odd constants, which map no two of them to one: a record never
  // reads as another that has the same body.
  const std::uint64_t mixed = sequence * 0x9E3779B97F4A7C15U ^ counts * 0xC2B2AE3D27D4EB4FU;
  return core::crc32c(body) ^ static_cast<std::uint32_t>(mixed >> 32U);
}

std::uint32_t checksum_of(const RecordSlot& slot) {
  const std::uint32_t counts = std::uint32_t{slot.value_count} | std::uint32_t{slot.action} << 16U |
                               std::uint32_t{slot.reserved} << 24U;
  const char* body = reinterpret_cast<const char*>(&slot) + k_body_begin;
  return checksum_of({body, sizeof slot - k_body_begin}, counts, slot.sequence);
}

std::uint32_t checksum_of(const TextHead& head, std::string_view bytes) {
  const std::uint32_t kinds = std::uint32_t{head.kind} << 16U | head.ordinal;
  return core::crc32c(bytes) ^ (kinds * 0x9E3779B1U);
}

std::string fault_in(const RecordHead& head) {
  if (bytes_of(head.magic, sizeof head.magic) != k_magic) return "it is no step record";
  if (head.checksum != checksum_of(head)) return "its head is damaged (wrong checksum)";
  if (head.version != k_version)
    return "it has version " + std::to_string(head.version) + ", this program reads version " +
           std::to_string(k_version);
  if (head.slots == 0 || head.slots > k_most_slots)
    return "it says that it has " + std::to_string(head.slots) + " slots";
  if (head.text_bytes < k_least_text || head.text_bytes > k_most_text ||
      head.text_bytes % k_text_align != 0)
    return "it says that its text table has " + std::to_string(head.text_bytes) + " bytes";
  return {};
}

std::uint64_t file_bytes(const RecordHead& head) {
  return k_head_bytes + head.text_bytes + std::uint64_t{head.slots} * sizeof(RecordSlot);
}

std::optional<TextEntry> text_at(std::string_view table, std::size_t place) {
  if (place % k_text_align != 0 || place + sizeof(TextHead) > table.size()) return std::nullopt;
  TextHead head;
  std::memcpy(&head, table.data() + place, sizeof head);
  const std::size_t room = table.size() - place - sizeof head;
  if (head.size == 0 || head.size > k_most_text_entry || head.size > room) return std::nullopt;
  TextEntry entry;
  entry.text = table.substr(place + sizeof head, head.size);
  if (head.checksum != checksum_of(head, entry.text)) return std::nullopt;
  entry.kind = static_cast<TextKind>(head.kind);
  entry.ordinal = head.ordinal;
  const std::size_t padded = (head.size + k_text_align - 1) / k_text_align * k_text_align;
  entry.next = place + sizeof head + padded;
  return entry;
}

SlotState state_of(const RecordSlot& slot, std::uint32_t index, std::uint32_t slots) {
  if (slot.sequence == 0) {
    const std::string_view all = bytes_of(&slot, sizeof slot);
    const bool blank = std::all_of(all.begin(), all.end(), [](char c) { return c == '\0'; });
    return blank ? SlotState::empty : SlotState::in_flight;
  }
  if ((slot.sequence - 1) % slots != index || slot.value_count > std::size(slot.value) ||
      slot.checksum != checksum_of(slot))
    return SlotState::damaged;
  return SlotState::good;
}

}  // namespace aplomb::recorder

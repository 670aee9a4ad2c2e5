#include "sources/record_log.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <utility>

namespace aplomb::sources {
namespace {

constexpr std::uint64_t k_block_bytes = 32768;
constexpr std::size_t k_piece_head_bytes = 7;  // as many as the head of the file
constexpr std::size_t k_most_record = 64U << 20U;

enum PieceType : unsigned char { k_zero = 0, k_full = 1, k_first = 2, k_middle = 3, k_last = 4 };

}  // namespace

RecordLog::RecordLog(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source,
                     std::string who)
    : window_(bytes), build_(build), source_(source), who_(std::move(who)) {
  if (window_.look(k_piece_head_bytes).size() == k_piece_head_bytes)
    window_.drop(k_piece_head_bytes);
}

bool RecordLog::next(std::string_view& record) {
  whole_ = false;
  while (!whole_) {
    if (read_ > 0) window_.drop(std::exchange(read_, 0));
    if (!piece()) return false;
  }
  record = given_;
  return true;
}

void RecordLog::defect(std::string kind, core::Severity severity, std::string text) {
  build_.defect(
      {source_, window_.offset(), std::move(kind), severity, fmt::format("[{}] {}", who_, text)});
}

bool RecordLog::torn() {
  defect("truncated", core::Severity::note,
         "the last record is cut: the process was stopped, or still writes");
  return false;
}

/// Reads the next piece; false at the end of the file.
bool RecordLog::piece() {
  const std::uint64_t room = k_block_bytes - window_.offset() % k_block_bytes;
  if (room < k_piece_head_bytes) {  // too little for a head: the writer fills it with zeros
    return window_.skip(room) == room;
  }
  const std::string_view head = window_.look(k_piece_head_bytes);
  if (head.empty()) return false;
  if (head.size() < k_piece_head_bytes) return torn();
  std::uint32_t checksum = 0;
  std::uint16_t size = 0;
  std::memcpy(&checksum, head.data(), sizeof checksum);
  std::memcpy(&size, head.data() + 4, sizeof size);
  const auto type = static_cast<unsigned char>(head[6]);
  const std::size_t whole = k_piece_head_bytes + size;
  if (whole > room || type > k_last || (type == k_zero && size == 0))
    return next_block(room, type == k_zero);
  const std::string_view bytes = window_.look(whole);
  if (bytes.size() < whole) return torn();
  const std::string_view content = bytes.substr(k_piece_head_bytes);
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 6),
                          static_cast<uInt>(1 + content.size()));
  if (crc != checksum) return next_block(room, false);
  read_ = whole;
  take(type, content);
  return true;
}

/// After damage the next block starts a piece again.
bool RecordLog::next_block(std::uint64_t room, bool padding) {
  if (!padding) {
    defect("bad-crc", core::Severity::warning,
           "a piece is damaged; what is left of its block of 32 KiB was left out");
  }
  open_ = false;
  return window_.skip(room) == room;
}

void RecordLog::take(unsigned char type, std::string_view content) {
  if (type == k_full) {
    whole_ = true;
    given_ = content;
    return;
  }
  if (type == k_first) {
    record_.clear();
    open_ = true;
  }
  if (!open_) return;  // the rest of a record whose beginning was damaged
  if (record_.size() + content.size() > k_most_record) {
    defect("too-large", core::Severity::warning,
           fmt::format("a record beyond {} bytes was left out", k_most_record));
    open_ = false;
    return;
  }
  record_ += content;
  if (type != k_last) return;
  open_ = false;
  whole_ = true;
  given_ = record_;
}

}  // namespace aplomb::sources

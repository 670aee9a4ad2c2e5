#include "input/line_reader.h"

#include <algorithm>
#include <cstring>

namespace aplomb::input {

bool LineReader::refill() {
  if (!part_.empty()) return true;
  if (at_end_) return false;
  part_ = bytes_.next();
  at_end_ = part_.empty();
  return !at_end_;
}

void LineReader::keep(std::string_view piece) {
  const std::size_t room = k_most_bytes - std::min(k_most_bytes, carried_.size());
  cut_ = cut_ || piece.size() > room;
  carried_ += piece.substr(0, room);
}

bool LineReader::next(Line& line) {
  carried_.clear();
  cut_ = false;
  std::uint64_t length = 0;  // with its end, cut or not
  std::string_view text;
  bool ended = false;
  bool begun = false;
  while (!ended && refill()) {
    const void* found = std::memchr(part_.data(), '\n', part_.size());
    ended = found != nullptr;
    const std::size_t size =
        ended ? static_cast<std::size_t>(static_cast<const char*>(found) - part_.data())
              : part_.size();
    const std::string_view piece = part_.substr(0, size);
    const bool whole = ended && !begun && size <= k_most_bytes;
    if (whole) {
      text = piece;
    } else {
      keep(piece);
      text = carried_;
    }
    begun = true;
    length += size + (ended ? 1 : 0);
    part_.remove_prefix(size + (ended ? 1 : 0));
  }
  if (!begun) return false;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (number_ == 0 && text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  line = {text, ++number_, offset_, cut_, ended};
  offset_ += length;
  return true;
}

}  // namespace aplomb::input

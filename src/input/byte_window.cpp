#include "input/byte_window.h"

namespace aplomb::input {

std::string_view ByteWindow::look_across(std::size_t count) {
  held_.erase(0, used_);
  used_ = 0;
  while (held_.size() < count) {
    if (part_.empty()) {
      part_ = bytes_.next();
      if (part_.empty()) break;
      if (held_.empty() && part_.size() >= count) return part_.substr(0, count);
    }
    const std::size_t take = std::min(count - held_.size(), part_.size());
    held_ += part_.substr(0, take);
    part_.remove_prefix(take);
  }
  return std::string_view(held_).substr(0, count);
}

std::uint64_t ByteWindow::skip(std::uint64_t count) {
  std::uint64_t left = count;
  const auto of_held =
      static_cast<std::size_t>(std::min<std::uint64_t>(left, held_.size() - used_));
  drop(of_held);
  left -= of_held;
  while (left > 0) {
    if (part_.empty()) part_ = bytes_.next();
    if (part_.empty()) break;
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left, part_.size()));
    drop(take);
    left -= take;
  }
  return count - left;
}

}  // namespace aplomb::input

#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace aplomb::config_text {

/// Line and column (both from 0, columns in bytes) -> byte offset. The text must outlive it.
class TextPlaces {
 public:
  explicit TextPlaces(std::string_view text) : size_(text.size()) {
    starts_.push_back(0);
    for (std::size_t at = text.find('\n'); at != std::string_view::npos;
         at = text.find('\n', at + 1)) {
      starts_.push_back(at + 1);
    }
  }
  std::uint64_t offset(int line, int column) const {
    if (line < 0 || column < 0) return 0;
    const auto row = std::min(static_cast<std::size_t>(line), starts_.size() - 1);
    return std::min<std::uint64_t>(starts_[row] + static_cast<std::uint64_t>(column), size_);
  }

 private:
  std::uint64_t size_;
  std::vector<std::uint64_t> starts_;
};

}  // namespace aplomb::config_text

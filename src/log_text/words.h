#pragma once
/// Small helpers on the words of a line.

#include <algorithm>
#include <array>
#include <string_view>

namespace aplomb::log_text {

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& set) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

/// Lower case of a short word, in place of an allocation; empty for a long one.
class Folded {
 public:
  explicit Folded(std::string_view word) {
    if (word.size() > sizeof(text_)) return;
    for (const char c : word)
      text_[size_++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[16] = {};
  std::size_t size_ = 0;
};

}  // namespace aplomb::log_text

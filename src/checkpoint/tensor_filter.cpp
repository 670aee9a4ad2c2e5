#include "checkpoint/tensor_filter.h"

#include <algorithm>

namespace aplomb::checkpoint {

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last one: where to go on if what follows fails
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const std::vector<std::string>& kind_words() {
  static const std::vector<std::string> words = {"norm",   "bias",   "embedding", "attention",
                                                 "mlp",    "router", "conv",      "lora_a",
                                                 "lora_b", "head",   "buffer",    "other"};
  return words;  // in TensorKind's order
}

bool TensorFilter::takes(std::string_view name, TensorKind kind) const {
  const bool named = only.empty() ||
                     std::any_of(only.begin(), only.end(),
                                 [&](const std::string& glob) { return matches_glob(glob, name); });
  const std::string& word = kind_words()[static_cast<std::size_t>(kind)];
  return named && (kinds.empty() || std::find(kinds.begin(), kinds.end(), word) != kinds.end());
}

void keep_tensors(Checkpoint& checkpoint, const TensorFilter& filter) {
  if (filter.empty()) return;
  std::erase_if(checkpoint.tensors, [&](const tensors::Tensor& each) {
    return !filter.takes(each.name, kind_of(each));
  });
}

}  // namespace aplomb::checkpoint

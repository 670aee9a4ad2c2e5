#pragma once
/// TokenLabels: a sample of tokens and the labels beside it, as programs print the first of their data.
///
///     ['[CLS]', 'the', 'weather', 'in', 'li', '##m', '##a', 'was', 'mild', '.', '[SEP]']
///     labels:  [-100, 0, 0, 0, 3, 0, 0, -100, -100, -100, -100]
///
/// Labels of words belong to the first pieces of the words. Where they were laid on the pieces one after
/// another, pieces that continue a word hold labels of their own and words at the end hold none; where they
/// were not moved behind the opening token, that token has one. One event, `labels-by-position`. O(1) memory.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_samples {

class TokenLabels {
 public:
  /// Any line, as it was printed.
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  std::vector<std::string> tokens_;  ///< of the last list of tokens
  std::uint64_t tokens_line_ = 0;
  std::string text_;  ///< of the labels that do not fit; empty: none
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace aplomb::log_samples

#pragma once
/// SampleTokens: the text of a sample -> its ids, ~id where a token does not count.
///
/// The whole text is encoded at once, as a trainer that joins prompt and answer does, and each
/// border between parts is found by encoding what stands before it: ids are the prompt's as far as
/// both agree. A token that reaches over a border counts with the part that it ends in.

#include <cstdint>
#include <string>
#include <vector>

#include "train/text/dataset.h"
#include "train/text/sample_text.h"

namespace aplomb::train::text {

class SampleTokens {
 public:
  SampleTokens(const TextCodec& codec, const DatasetOptions& options)
      : codec_(&codec), options_(&options), encoder_(codec.tokenizer) {}

  struct Cut {
    bool truncated = false;
  };
  /// Appends the tokens of `sample` to `out`, or leaves `out` as it was and says why not.
  tl::expected<Cut, RowFault> append(const SampleText& sample, std::vector<std::int32_t>& out);

 private:
  void mark(const SampleText& sample, std::size_t head, std::size_t begin,
            std::vector<std::int32_t>& out);
  tl::expected<Cut, RowFault> checked(std::size_t begin, std::vector<std::int32_t>& out) const;

  const TextCodec* codec_;
  const DatasetOptions* options_;
  Encoder encoder_;
  std::string text_;
  std::vector<std::int32_t> before_;
};

}  // namespace aplomb::train::text

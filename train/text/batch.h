#pragma once
/// TokenBatch: what the data hands to the model, in plain vectors (no tensor library here).
///
/// All four vectors are rows x columns, row after row. Shape legend: r rows, c columns.
///   ids        a token id in [0, vocabulary); the padding id where `segments` is -1
///   labels     the same ids where a token counts in the loss, k_ignored where it does not. NOT
///              shifted: the model compares its output at c - 1 with the label at c. The first
///              token of every document is k_ignored (nothing before it predicts it), so the
///              number of labels that are not k_ignored is the number of loss terms, packed or not
///   positions  0, 1, 2... within each document (for rotary embeddings); 0 on padding
///   segments   which document of its row a token belongs to, from 0; -1 on padding. A token
///   attends
///              to tokens of its own segment, at or before itself; padding likewise to padding, so
///              that no softmax is empty
/// Padding stands at the end of a row.

#include <cstdint>
#include <vector>

namespace aplomb::train::text {

constexpr std::int64_t k_ignored = -100;

struct TokenBatch {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;  ///< k_ignored: does not count
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> segments;  ///< -1: padding
  std::vector<std::uint64_t> samples;  ///< the samples in it, by their number in the data set

  /// Loss terms: 0 in a batch that only keeps this rank in step with the others.
  std::int64_t counted() const {
    std::int64_t count = 0;
    for (const std::int64_t label : labels) count += label != k_ignored ? 1 : 0;
    return count;
  }
};

}  // namespace aplomb::train::text

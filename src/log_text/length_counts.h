#pragma once
/// LengthCounts: how long the batches of a run are and how long its samples, where a program prints both.
///
///     words per ticket: mean 12.6, longest 17       how long the samples are
///     step 10 input (16, 384) fwd+bwd 0.39s         how long they are made
///     batch (4, 512) | 72 tokens/step               both: 72 of 2048 positions hold a token
///     pad fraction 0.93                             the share itself
///
/// One event, `padding-counted`, where most positions hold no token (`real_share`, `positions`, `tokens`).
/// O(1) memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "record/run_builder.h"

namespace aplomb::log_text {

class LengthCounts {
 public:
  /// Any line, as it was printed.
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Count {
    double value = 0;
    std::string text;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };

  static void note(std::optional<Count>& count, double value, const Count& at);
  void note_shape(std::string_view text, const Count& at);
  void note_lengths(std::string_view text, const Count& at);

  std::optional<Count> samples_;      ///< in a batch
  std::optional<Count> length_;       ///< of a batch, in tokens
  std::optional<Count> mean_;         ///< tokens of a sample
  std::optional<Count> longest_;      ///< tokens of the longest
  std::optional<Count> step_tokens_;  ///< real tokens of a step
  std::optional<Count> padding_;      ///< share of all positions
};

}  // namespace aplomb::log_text

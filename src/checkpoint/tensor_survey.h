#pragma once
/// What is in a checkpoint's weights: statistics of every tensor, by kind, and what is wrong with
/// them on sight.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_kind.h"

namespace aplomb::checkpoint {

struct SurveyedTensor {
  std::size_t tensor = 0;  ///< index into Checkpoint::tensors
  TensorKind kind = TensorKind::other;
  std::optional<scan::TensorStats> stats;  ///< nothing where its data or type cannot be read

  bool nonfinite() const { return stats && stats->nan + stats->inf > 0; }
  bool all_zero() const { return stats && stats->count > 0 && stats->zeros == stats->count; }
  /// Holds a value that fp16 would turn into infinity (its largest is 65504).
  bool beyond_fp16() const { return stats && stats->max_abs > 65504.0; }
};

struct Survey {
  std::vector<SurveyedTensor> tensors;
  std::uint64_t elements = 0;
  std::uint64_t float_elements = 0;
  std::size_t nonfinite = 0;
  /// All-zero tensors that a trained model should not have: biases, buffers and a fresh LoRA B are
  /// zero by design and do not count.
  std::size_t all_zero = 0;
  std::size_t lora_b = 0;
  std::size_t lora_b_zero = 0;
  /// Type of most floating-point elements (`bf16`), empty where there are none.
  std::string params_dtype;
};

struct SurveyOptions {
  int threads = 1;
  /// Called now and then with the bytes done, from whichever thread; may be empty.
  std::function<void(std::uint64_t done_bytes)> progress;
  /// Of several processes this is `rank`: each scans its share of the tensors, and `join` fills in
  /// what the others found.
  std::size_t rank = 0;
  std::size_t ranks = 1;
  std::function<void(std::vector<std::optional<scan::TensorStats>>& stats)> join;
};

/// The result does not depend on the threads.
Survey survey(const Checkpoint& checkpoint, const SurveyOptions& options = {});

/// Survey::params_dtype alone: no weight is read for it.
std::string params_dtype(const Checkpoint& checkpoint);

/// `BF16` -> `bf16`, as Settings spell precisions.
std::string precision_word(const tensors::ElementType& type);

}  // namespace aplomb::checkpoint

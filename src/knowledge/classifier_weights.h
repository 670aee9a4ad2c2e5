#pragma once
/// What the text classifier has learnt: models/report_classifier/weights.safetensors, embedded at
/// build. tools/report_classifier/files.py writes it and says what each tensor holds.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::knowledge {

struct ClassifierWeights {
  std::vector<std::string> causes;
  std::vector<float> bias;  ///< nats [causes]

  /// What a feature says of one cause.
  struct Weight {
    std::size_t cause = 0;
    double nats = 0;
  };
  std::vector<std::string> features;
  std::vector<std::int32_t> begin;  ///< [features + 1]: where the weights of each feature begin
  std::vector<Weight> weights;

  std::vector<std::string> words;
  std::vector<float> axes;         ///< [axes, causes]: nats for a step along each axis
  std::vector<std::int8_t> steps;  ///< [words, axes]
  std::size_t axis_count = 0;

  std::span<const Weight> of(std::size_t feature) const {
    const auto from = static_cast<std::size_t>(begin[feature]);
    return std::span(weights).subspan(from, static_cast<std::size_t>(begin[feature + 1]) - from);
  }
  /// The steps of a word along each axis.
  std::span<const std::int8_t> steps_of(std::size_t word) const {
    return std::span(steps).subspan(word * axis_count, axis_count);
  }
};

/// Errors: bad_format, where a tensor is missing, torn, or of another shape than the names ask for.
core::Result<ClassifierWeights> read_classifier_weights(std::string_view file);

/// The bytes that are embedded.
std::string_view embedded_classifier();

}  // namespace aplomb::knowledge

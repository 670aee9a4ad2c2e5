#pragma once
/// The scalars of one TensorBoard Event message (tensorflow/core/util/event.proto,
/// framework/summary.proto).

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace aplomb::sources {

struct TfScalar {
  std::string_view tag;  ///< points into the message
  double value = 0;
};

struct TfText {
  std::string_view tag;
  std::string_view text;
};

struct TfEvent {
  std::int64_t step = 0;
  double wall_time_s = 0;
  bool version = false;           ///< the record that opens a file: `brain.Event:2`
  std::vector<TfScalar> scalars;  ///< simple values, and tensors of one number
  std::vector<TfText> texts;      ///< tensors of one string with the text plugin
};

/// Reads `message` into `event`, whose vectors are reused. False where the bytes are no such
/// message; what was read before the fault stays. All else in it (histograms, images, graphs) is
/// skipped by its length.
bool read_tf_event(std::string_view message, TfEvent& event);

}  // namespace aplomb::sources

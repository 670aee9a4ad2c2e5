#pragma once
/// Series: one metric over steps, and where each sample stood.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "record/column.h"
#include "record/role.h"

namespace aplomb::record {

using SourceId = std::uint32_t;

/// Where something was read: which artifact, which line (from 1; 0 where lines have no meaning),
/// which byte.
struct Origin {
  SourceId source = 0;
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
};

/// How a Series knows its steps.
enum class StepKind : std::uint8_t {
  explicit_,  ///< the artifact states the optimizer step (or iteration)
  epoch,      ///< only an epoch was given: the step counts epochs (or records within them)
  ordinal,    ///< nothing was given: the step is the record's number, from 0
};

/// One metric over steps: columns of equal length, in the order in which the artifact gave them.
/// Values may be NaN or Inf: that is data. Steps may repeat, and go back after a restart: then
/// `segment` rises.
///
/// Memory is bounded: beyond k_max_points the neighbours are thinned (of two, the non-finite or the
/// more extreme one is kept) and `thinned` doubles; `count`, `first`, `last`, `min`, `max` and the
/// non-finite count stay exact.
struct Series {
  static constexpr std::size_t k_max_points = 1U << 18U;

  std::string name;  ///< normalised: `loss`, `grad_norm`, `loss/cls`; the artifact's own where none
                     ///< is known
  std::string raw_name;  ///< as the artifact spelled it
  Role role = Role::other;
  StepKind step_kind = StepKind::explicit_;
  int rank = -1;  ///< of a multi-rank log; -1 where lines carry no rank
  SourceId source = 0;

  std::vector<double> value;
  PackedColumn<std::int64_t> step;
  RunColumn<std::uint16_t> segment;    ///< 0, and one more after each restart of the run
  PackedColumn<std::uint64_t> line;    ///< 0 where lines have no meaning
  PackedColumn<std::uint64_t> offset;  ///< byte in the artifact

  std::uint64_t count = 0;                                ///< samples given, thinned or not
  std::uint64_t nonfinite_count = 0;                      ///< of them NaN or Inf
  std::uint32_t thinned = 1;                              ///< one of so many samples is kept
  double min = std::numeric_limits<double>::quiet_NaN();  ///< over finite samples
  double max = std::numeric_limits<double>::quiet_NaN();

  struct Continuation {
    std::uint16_t first_segment = 0;
    SourceId source = 0;
  };
  std::vector<Continuation>
      continuations;  ///< of a resumed run: from which segment on which source

  std::size_t size() const { return value.size(); }
  bool empty() const { return value.empty(); }
  Origin origin(std::size_t index) const { return {source_at(index), line[index], offset[index]}; }
  /// The artifact that gave a sample: `source`, or the one of the continuation that it lies in.
  SourceId source_at(std::size_t index) const {
    SourceId at = source;
    for (const Continuation& each : continuations) {
      if (segment[index] >= each.first_segment) at = each.source;
    }
    return at;
  }
  /// Lays another series behind this one, as new segments: the run was resumed and wrote on into
  /// another artifact.
  void go_on_with(const Series& later);
  /// Hot: readers call it for each number of an artifact.
  void append(std::int64_t at_step, double sample, std::uint16_t at_segment, std::uint64_t at_line,
              std::uint64_t at_offset) {
    ++count;
    const bool finite = std::isfinite(sample);
    if (finite) {
      if (!(min <= sample)) min = sample;
      if (!(max >= sample)) max = sample;
    } else {
      ++nonfinite_count;
    }
    // Between kept samples only a non-finite one is let through: the first NaN must not be thinned
    // away. `thinned` is a power of two.
    if (thinned > 1 && (++skip_ & (thinned - 1U)) != 0 && (finite || nonfinite_count > 64)) return;
    keep(at_step, sample, at_segment, at_line, at_offset);
  }

 private:
  void keep(std::int64_t at_step, double sample, std::uint16_t at_segment, std::uint64_t at_line,
            std::uint64_t at_offset) {
    if (value.size() == value.capacity()) make_room();
    value.push_back(sample);
    step.push_back(at_step);
    segment.push_back(at_segment);
    line.push_back(at_line);
    offset.push_back(at_offset);
  }
  /// More memory, or beyond k_max_points fewer samples.
  void make_room();
  void thin();

  std::uint64_t skip_ = 0;
};

}  // namespace aplomb::record

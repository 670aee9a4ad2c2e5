#pragma once
/// What launchers put before every line: the rank that printed it.

#include <cstddef>
#include <string_view>

namespace aplomb::log_text {

struct Prefix {
  int rank = -1;         ///< -1: none said
  std::size_t size = 0;  ///< bytes up to where the line proper begins
};

/// Prefixes that are ones only where the whole log is written so.
struct PrefixStyle {
  bool numbered = false;  ///< `3: ` (`srun -l`): nearly every line, with at least two numbers
  bool of_world = false;  ///< `[1/4] `: rank and world size, as programs print them
  bool worded = false;    ///< `rank 1 epoch 0 ...`: without a bracket
};

/// The style of a log, by its head.
PrefixStyle prefix_style(std::string_view head);

/// `[rank3]: `, `[default0]:`, `[0]<stderr>:`, `[Rank 2] `, `(RayTrainWorker pid=7, ip=...)`, and
/// those of the style.
Prefix read_prefix(std::string_view line, PrefixStyle style);

}  // namespace aplomb::log_text

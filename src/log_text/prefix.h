#pragma once
/// What launchers put before every line: the rank that printed it.

#include <cstddef>
#include <string_view>

namespace aplomb::log_text {

struct Prefix {
  int rank = -1;         ///< -1: none said
  std::size_t size = 0;  ///< bytes up to where the line proper begins
};

/// `[rank3]: `, `[default0]:`, `[0]<stderr>:`, `[Rank 2] `, `(RayTrainWorker pid=7, ip=...)`; where
/// `numbered` says that the whole log is written so (`srun -l`), also ` 3: `.
Prefix read_prefix(std::string_view line, bool numbered);

/// Whether nearly every line of the head of a log begins with a number and a colon, of at least
/// two different numbers.
bool is_numbered(std::string_view head);

}  // namespace aplomb::log_text

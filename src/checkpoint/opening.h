#pragma once
/// Opening: what the formats of a checkpoint's files add to while one is opened. Which files of a
/// folder are read is checkpoint.cpp's part.

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

struct Opening {
  Opening(Checkpoint& to, bool checksums) : out(to), verify(checksums) {}

  Checkpoint& out;
  bool verify = false;                    ///< checksums of everything
  std::unordered_set<std::string> names;  ///< of weights

  void note(std::string kind, core::Severity severity, const std::string& path, std::string text);
  /// A file that cannot be read, and one that is of a kind which is not read.
  void unreadable(const std::string& path, const core::Error& error);
  void refuse(const std::string& path, const std::string& why);
  void join(const tensors::Findings& findings);
  /// One of a rank's file: joined with those of the other ranks in finish().
  void add_optimizer(OptimizerState state, bool of_rank);
  /// Puts the parts together that ranks hold. `alone`: a single file was asked for, whose parts are
  /// then taken as they are.
  void finish(bool alone);
  /// A second weight of the same name becomes a Finding.
  void add_weight(tensors::Tensor tensor, std::size_t file);

 private:
  void join_weights(bool alone);
  void append_optimizer(OptimizerState more);
  void join_optimizers();

  std::map<std::string, std::vector<tensors::Tensor>>
      parts_;  ///< by name; the first also stands in `out`
  std::vector<OptimizerState> rank_optimizers_;
};

}  // namespace aplomb::checkpoint

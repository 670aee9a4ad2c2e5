#pragma once
/// Snapshots: the last two copies in memory of what trains, for the guard's rollback.

#include <deque>
#include <optional>
#include <vector>

#include "train/loop/optimizer.h"
#include "train/text/batch_stream.h"

namespace aplomb::train::loop {

class Snapshots {
 public:
  /// `tensors`: parameters and optimizer state, by reference.
  explicit Snapshots(std::vector<NamedTensor> tensors) : tensors_(std::move(tensors)) {}

  /// Host memory that two copies take.
  std::uint64_t bytes() const;
  void take(std::int64_t step, const text::DataPosition& data);
  /// Copies the snapshot of `step` back and forgets later ones. The data's position then; nothing
  /// where there is no such snapshot (a resumed run has only those that it took itself).
  std::optional<text::DataPosition> restore(std::int64_t step);

 private:
  struct Kept {
    std::int64_t step = 0;
    text::DataPosition data;
    std::vector<at::Tensor> copies;  // in host memory
  };
  std::vector<NamedTensor> tensors_;
  std::deque<Kept> kept_;  // older first, at most two
};

}  // namespace aplomb::train::loop

#pragma once
/// GradientBuckets: the gradients of all ranks summed while the backward pass still runs.
///
///     GradientBuckets buckets(group, parameters);
///     ... backward() of all micro-batches but the last ...
///     buckets.arm();
///     loss.backward();              // buckets are sent as they fill
///     buckets.finish();             // every parameter's gradient is the sum over the ranks
///
/// Parameters fill buckets from the last one on, since backward reaches those first; a bucket goes
/// on its way when its last gradient is there and the one before it has gone, so all ranks send in
/// the same order. A rank without a backward pass (nothing counts in its batch) calls finish()
/// alone, and its gradients count as zeros. Afterwards each gradient is a view into its bucket, so
/// gradients that are to be added to have to be cleared before the next pass.

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "train/dist/group.h"

namespace aplomb::train::dist {

class GradientBuckets {
 public:
  /// As DistributedDataParallel's: 25 MiB, and a first one of 1 MiB so that sending begins early.
  static constexpr std::int64_t k_bucket_bytes = 25 << 20, k_first_bytes = 1 << 20;

  /// `parameters` in the same order on all ranks, in the order in which the forward pass uses them.
  /// With one rank nothing is hooked.
  GradientBuckets(Group& group, const std::vector<at::Tensor>& parameters,
                  std::int64_t bucket_bytes = k_bucket_bytes,
                  std::int64_t first_bytes = k_first_bytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// The next backward pass is the last of this step.
  void arm();
  /// Throws GroupLost.
  void finish();

  std::size_t count() const { return buckets_.size(); }

 private:
  struct Slot {
    at::Tensor parameter;
    std::size_t bucket = 0;
    std::int64_t offset = 0;  // in elements
    bool ready = false;
  };
  struct Bucket {
    at::Tensor flat;
    std::vector<std::size_t> slots;
    std::size_t missing = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };
  class Hook;
  void note(std::size_t slot);
  void take(Slot& slot);
  void launch_full();

  Group& group_;
  std::vector<Slot> slots_;
  std::vector<Bucket> buckets_;  // in the order in which they are sent
  std::size_t launched_ = 0;
  bool armed_ = false;
};

}  // namespace aplomb::train::dist

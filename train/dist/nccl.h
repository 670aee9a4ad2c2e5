#pragma once
/// NCCL, where the LibTorch that this was built with has it (nccl.cpp; else nccl_absent.cpp).

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace aplomb::train::dist {

/// Null where this build has no NCCL: sums of GPU tensors then go through host memory.
c10::intrusive_ptr<c10d::Backend> open_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size);

}  // namespace aplomb::train::dist

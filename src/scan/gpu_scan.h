#pragma once
/// GpuScan: the scan of many tensors in the memory of a CUDA device, without ever waiting for it.
///
///     auto scan = GpuScan::create(gradients, {.stream = stream});
///     const auto ticket = (*scan)->launch();       // after the backward pass; returns at once
///     ...
///     if (ticket && (*scan)->poll(*ticket, stats)) // some steps later
///
/// A launch enqueues two kernels and one copy on the stream: the statistics arrive in one slot of a
/// ring of pinned memory, and poll() looks whether they have. No function waits for the device
/// but create() and the destructor. The table of tensors lies on the device and is sent again only
/// by retarget(). fp32, bf16 and fp16, flat and contiguous, aligned to their elements; results are
/// those of scan(), and the same bits for every launch.
///
/// Needs CMake to have found nvcc (APLOMB_CUDA); without it create() says so. One thread at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/result.h"
#include "scan/scan.h"

namespace aplomb::scan {

class GpuScan {
 public:
  struct Options {
    int device = 0;
    void* stream = nullptr;  ///< a cudaStream_t of that device; null: its default stream
    unsigned slots = 4;      ///< launches under way at a time; at least 1
  };

  /// Errors: unsupported (built without nvcc, no device, a type that is not read), bad_usage (no
  /// tensors, no slots, or more chunks of 65,536 elements than 32 bits count), internal (the device
  /// refused, with its reason).
  static core::Result<std::unique_ptr<GpuScan>> create(std::span<const TensorView> tensors,
                                                       const Options& options);
  static bool is_built();
  /// Whether a device answers.
  static bool is_present();

  virtual ~GpuScan() = default;

  /// Other addresses for the same tensors (types and counts must be those of create()), for the
  /// launches that follow. False, and nothing changed, where they are not, where the table before
  /// is still on its way, or the device refused.
  virtual bool retarget(std::span<const TensorView> tensors) = 0;

  /// Enqueues a scan of what the tensors hold when the stream gets there. Nothing where every slot
  /// is still under way, or the device refused.
  virtual std::optional<std::uint64_t> launch() = 0;

  /// Fills `stats`, one entry a tensor, and gives the slot free. False where they have not arrived
  /// yet, or the ticket is of no launch that is under way.
  virtual bool poll(std::uint64_t ticket, std::span<TensorStats> stats) = 0;
};

}  // namespace aplomb::scan

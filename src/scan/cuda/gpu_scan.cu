// GpuScan on the CUDA runtime. Nothing here throws for what the device refuses: launch() and poll()
// say no, create() says why.

#include "scan/gpu_scan.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "scan/cuda/scan_kernel.cuh"
#include "scan/gpu_stats.h"

namespace aplomb::scan {
namespace {

/// Memory of the device, or pinned memory of the host, that frees itself.
template <class T>
class Block {
 public:
  enum class Where { device, pinned };
  Block() = default;
  ~Block() {
    if (data_ == nullptr) return;
    where_ == Where::device ? cudaFree(data_) : cudaFreeHost(data_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  cudaError_t take(Where where, std::size_t count) {
    where_ = where;
    const std::size_t bytes = std::max<std::size_t>(count, 1) * sizeof(T);
    void* made = nullptr;
    const cudaError_t status =
        where == Where::device ? cudaMalloc(&made, bytes) : cudaMallocHost(&made, bytes);
    data_ = static_cast<T*>(made);
    return status;
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  Where where_ = Where::device;
};

/// Makes a device the current one, and the one before it again.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

struct Slot {
  Block<scan::gpu::Stats> stats;  ///< pinned
  cudaEvent_t arrived = nullptr;
  std::uint64_t ticket = 0;  ///< 0: free
};

class CudaScan final : public GpuScan {
 public:
  CudaScan(std::span<const TensorView> tensors, const Options& options)
      : tensors_(tensors.begin(), tensors.end()),
        device_(options.device),
        stream_(static_cast<cudaStream_t>(options.stream)),
        slots_(options.slots) {}

  ~CudaScan() override {
    const OnDevice on(device_);
    cudaStreamSynchronize(stream_);  // the device may still write to what is freed now
    for (Slot& each : slots_) {
      if (each.arrived != nullptr) cudaEventDestroy(each.arrived);
    }
    if (sent_ != nullptr) cudaEventDestroy(sent_);
  }

  cudaError_t prepare(const scan::gpu::ChunkTable& table) {
    using OnDeviceBlock = Block<scan::gpu::Chunk>::Where;
    const OnDevice on(device_);
    cudaDeviceProp about = {};
    int resident = 0;
    const auto chunks = static_cast<unsigned>(table.chunks.size());
    cudaError_t status = cudaGetDeviceProperties(&about, device_);
    const auto then = [&](cudaError_t next) { status = status == cudaSuccess ? next : status; };
    then(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, scan::gpu::device::scan_chunks,
                                                       scan::gpu::k_threads, 0));
    then(chunks_.take(OnDeviceBlock::device, chunks));
    then(sending_.take(OnDeviceBlock::pinned, chunks));
    then(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    then(first_.take(Block<std::uint32_t>::Where::device, table.first.size()));
    then(partials_.take(Block<scan::gpu::Partial>::Where::device, chunks));
    then(results_.take(Block<scan::gpu::Stats>::Where::device, tensors_.size()));
    for (Slot& each : slots_) {
      then(each.stats.take(Block<scan::gpu::Stats>::Where::pinned, tensors_.size()));
      then(cudaEventCreateWithFlags(&each.arrived, cudaEventDisableTiming));
    }
    if (status != cudaSuccess) return status;
    count_ = chunks;
    const auto most = static_cast<unsigned>(resident * about.multiProcessorCount);
    blocks_ = std::max(1U, std::min(most, chunks));
    status = cudaMemcpy(first_.get(), table.first.data(),
                        table.first.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice);
    then(send(table.chunks));
    return status;
  }

  bool retarget(std::span<const TensorView> tensors) override {
    const bool same = tensors.size() == tensors_.size() &&
                      std::equal(tensors.begin(), tensors.end(), tensors_.begin(),
                                 [](const TensorView& a, const TensorView& b) {
                                   return a.type == b.type && a.count == b.count;
                                 });
    const auto table = same ? scan::gpu::chunks_of(tensors) : std::nullopt;
    if (!table) return false;
    const OnDevice on(device_);
    if (send(table->chunks) != cudaSuccess) return false;
    tensors_.assign(tensors.begin(), tensors.end());
    return true;
  }

  std::optional<std::uint64_t> launch() override {
    Slot& slot = slots_[next_ % slots_.size()];
    if (slot.ticket != 0) return std::nullopt;
    const OnDevice on(device_);
    if (cudaPeekAtLastError() != cudaSuccess) return std::nullopt;  // somebody else's: left to them
    if (count_ > 0) {
      scan::gpu::device::scan_chunks<<<blocks_, scan::gpu::k_threads, 0, stream_>>>(chunks_.get(), count_,
                                                                        partials_.get());
    }
    const auto tensors = static_cast<unsigned>(tensors_.size());
    scan::gpu::device::join_chunks<<<tensors, scan::gpu::k_threads, 0, stream_>>>(partials_.get(), first_.get(),
                                                                      results_.get());
    const bool enqueued =
        cudaGetLastError() == cudaSuccess &&
        cudaMemcpyAsync(slot.stats.get(), results_.get(), tensors * sizeof(scan::gpu::Stats),
                        cudaMemcpyDeviceToHost, stream_) == cudaSuccess &&
        cudaEventRecord(slot.arrived, stream_) == cudaSuccess;
    if (!enqueued) return std::nullopt;
    return slot.ticket = ++next_;
  }

  bool poll(std::uint64_t ticket, std::span<TensorStats> stats) override {
    if (ticket == 0 || stats.size() < tensors_.size()) return false;
    Slot& slot = slots_[(ticket - 1) % slots_.size()];
    const OnDevice on(device_);
    if (slot.ticket != ticket) return false;
    const cudaError_t status = cudaEventQuery(slot.arrived);
    if (status == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
    if (status != cudaSuccess) return false;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      stats[i] = scan::gpu::stats_of(slot.stats.get()[i], tensors_[i].count);
    }
    slot.ticket = 0;
    return true;
  }

 private:
  /// Through pinned memory of our own: the caller's table may be gone before the device reads it.
  cudaError_t send(const std::vector<scan::gpu::Chunk>& chunks) {
    cudaError_t status = cudaEventQuery(sent_);
    if (status == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
    if (status != cudaSuccess) return status;  // the table before is still on its way
    std::copy(chunks.begin(), chunks.end(), sending_.get());
    status = cudaMemcpyAsync(chunks_.get(), sending_.get(), chunks.size() * sizeof(scan::gpu::Chunk),
                             cudaMemcpyHostToDevice, stream_);
    return status == cudaSuccess ? cudaEventRecord(sent_, stream_) : status;
  }

  std::vector<TensorView> tensors_;
  int device_;
  cudaStream_t stream_;
  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;
  unsigned count_ = 0;
  unsigned blocks_ = 1;
  Block<scan::gpu::Chunk> chunks_;
  Block<scan::gpu::Chunk> sending_;  ///< pinned
  cudaEvent_t sent_ = nullptr;
  Block<std::uint32_t> first_;
  Block<scan::gpu::Partial> partials_;
  Block<scan::gpu::Stats> results_;
};

}  // namespace

core::Result<std::unique_ptr<GpuScan>> GpuScan::create(std::span<const TensorView> tensors,
                                                 const Options& options) {
  if (tensors.empty() || options.slots == 0) {
    return core::fail(core::ErrorCode::bad_usage, "[gpu scan] it needs a tensor and a slot at least");
  }
  if (!is_present()) return core::fail(core::ErrorCode::unsupported, "[gpu scan] no CUDA device answers");
  const auto table = scan::gpu::chunks_of(tensors);
  if (!table) {
    return core::fail(core::ErrorCode::unsupported,
                "[gpu scan] it reads fp32, bf16 and fp16 that are aligned to their elements");
  }
  auto scan = std::make_unique<CudaScan>(tensors, options);
  const cudaError_t status = scan->prepare(*table);
  if (status != cudaSuccess) {
    return core::fail(core::ErrorCode::internal,
                std::string("[gpu scan] the device refused: ") + cudaGetErrorString(status));
  }
  return scan;
}

bool GpuScan::is_built() { return true; }

bool GpuScan::is_present() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

}  // namespace aplomb::scan

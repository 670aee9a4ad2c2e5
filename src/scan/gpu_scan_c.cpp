// The C functions of aplomb/scan.h for a CUDA device.

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "scan/gpu_scan.h"
#include "scan/scan_c.h"

struct aplomb_gpu_scan {
  std::unique_ptr<aplomb::scan::GpuScan> scan;
  std::vector<aplomb::scan::TensorStats> stats;
};

namespace {

/// Nothing where a tensor is not described as it should be; `status` says why.
std::optional<std::vector<aplomb::scan::TensorView>> views_of(const aplomb_tensor* tensors,
                                                              size_t count, int& status) {
  status = tensors == nullptr || count == 0 ? APLOMB_SCAN_BAD_ARGUMENT : APLOMB_SCAN_OK;
  std::vector<aplomb::scan::TensorView> views;
  for (size_t i = 0; status == APLOMB_SCAN_OK && i < count; ++i) {
    status = aplomb::scan::check(tensors[i]);
    if (status == APLOMB_SCAN_OK) {
      views.push_back({tensors[i].data, tensors[i].count,
                       static_cast<aplomb::scan::ScalarType>(tensors[i].dtype)});
    }
  }
  return status == APLOMB_SCAN_OK ? std::optional(views) : std::nullopt;
}

}  // namespace

int aplomb_gpu_scan_create(const aplomb_tensor* tensors, size_t tensor_count, int device,
                           void* stream, aplomb_gpu_scan** scan) {
  if (scan == nullptr) return APLOMB_SCAN_BAD_ARGUMENT;
  try {
    int status = APLOMB_SCAN_OK;
    const auto views = views_of(tensors, tensor_count, status);
    if (!views) return status;
    auto made = aplomb::scan::GpuScan::create(*views, {device, stream, 4});
    if (!made) return APLOMB_SCAN_NO_DEVICE;
    auto kept = std::make_unique<aplomb_gpu_scan>();
    kept->scan = std::move(*made);
    kept->stats.resize(tensor_count);
    *scan = kept.release();
    return APLOMB_SCAN_OK;
  } catch (const std::exception&) {  // of the vectors above
    return APLOMB_SCAN_NO_RESOURCES;
  }
}

int aplomb_gpu_scan_retarget(aplomb_gpu_scan* scan, const aplomb_tensor* tensors,
                             size_t tensor_count) {
  if (scan == nullptr) return APLOMB_SCAN_BAD_ARGUMENT;
  try {
    int status = APLOMB_SCAN_OK;
    const auto views = views_of(tensors, tensor_count, status);
    if (!views) return status;
    return scan->scan->retarget(*views) ? APLOMB_SCAN_OK : APLOMB_SCAN_NOT_YET;
  } catch (const std::exception&) {
    return APLOMB_SCAN_NO_RESOURCES;
  }
}

int aplomb_gpu_scan_launch(aplomb_gpu_scan* scan, uint64_t* ticket) {
  if (scan == nullptr || ticket == nullptr) return APLOMB_SCAN_BAD_ARGUMENT;
  const auto given = scan->scan->launch();
  if (!given) return APLOMB_SCAN_NOT_YET;
  *ticket = *given;
  return APLOMB_SCAN_OK;
}

int aplomb_gpu_scan_poll(aplomb_gpu_scan* scan, uint64_t ticket, aplomb_tensor_stats* stats,
                         size_t stats_size) {
  if (scan == nullptr || stats == nullptr || stats_size != sizeof(aplomb_tensor_stats)) {
    return APLOMB_SCAN_BAD_ARGUMENT;
  }
  if (!scan->scan->poll(ticket, scan->stats)) return APLOMB_SCAN_NOT_YET;
  std::transform(scan->stats.begin(), scan->stats.end(), stats, aplomb::scan::as_c);
  return APLOMB_SCAN_OK;
}

void aplomb_gpu_scan_free(aplomb_gpu_scan* scan) {
  const std::unique_ptr<aplomb_gpu_scan> last(scan);
}

// GpuScan where CMake found no nvcc.

#include "scan/gpu_scan.h"

#ifndef APLOMB_HAS_CUDA

namespace aplomb::scan {

core::Result<std::unique_ptr<GpuScan>> GpuScan::create(std::span<const TensorView>,
                                                       const Options&) {
  return core::fail(core::ErrorCode::unsupported,
                    "[gpu scan] this build has no CUDA kernels; configure with nvcc in PATH and "
                    "-DAPLOMB_CUDA=ON");
}
bool GpuScan::is_built() { return false; }
bool GpuScan::is_present() { return false; }

}  // namespace aplomb::scan

#endif

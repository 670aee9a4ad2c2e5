#include "tool_tables/work_kind.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "tool_tables/columns.h"

namespace aplomb::tool_tables {
namespace {

using columns::has_any;

bool begins_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return text.starts_with(part); });
}

}  // namespace

Work host_work(std::string_view name) {
  if (name.starts_with("enumerate(DataLoader)")) return Work::loader;
  if (name.starts_with("Optimizer.step")) return Work::optimizer;
  if (begins_any(name, {"cuda", "hip"}) && name.ends_with("Synchronize")) return Work::sync;
  if (begins_any(name, {"cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel"}))
    return Work::launch;
  if (begins_any(name, {"TorchDynamo", "Dynamo ", "_compile."})) return Work::compile;
  return Work::other;
}

Work device_work(std::string_view name) {
  // cuBLAS and cuDNN call fp32 products without tensor cores sgemm (`cutlass_80_simt_sgemm`) and
  // scudnn.
  if (has_any(name, {"sgemm", "scudnn"})) return Work::fp32_matmul;
  if (name.starts_with("nccl") || has_any(name, {"ncclKernel", "ncclDevKernel"}))
    return Work::collective;
  if (name.starts_with("Memcpy") || name.starts_with("[CUDA memcpy")) return Work::copy;
  return Work::other;
}

Work python_work(std::string_view name) {
  if (has_any(name, {"dataloader.py", "_utils/fetch.py", "_utils/worker.py", "ImagingDecoder",
                     "cv2.imread", "imdecode", "DataLoader"})) {
    return Work::loader;
  }
  const bool loop = has_any(name, {" in ", "next("}) && has_any(name, {"loader", "Loader"});
  if (loop) return Work::loader;
  if (has_any(name,
              {".item()", ".cpu()", ".tolist()", ".numpy()", "'item' of", "'cpu' of", "'tolist' of",
               "'nonzero' of", "cuda.synchronize", "_cuda_synchronize", "_local_scalar_dense"})) {
    return Work::sync;
  }
  if (has_any(name, {"built-in method posix.", "'read' of '_io.", "method _io.open",
                     "method io.open", "method posix.stat", "'readinto' of"})) {
    return Work::disk;
  }
  if (has_any(name, {"torch/_dynamo", "torch/_inductor", "convert_frame.py"})) return Work::compile;
  if (has_any(name, {"torch/optim/", "optimizer.py", "optimizer.step(", "optim.step(",
                     "optimizer_step"})) {
    return Work::optimizer;
  }
  if (has_any(name, {"distributed_c10d.py", "c10d_logger.py", "all_reduce("}))
    return Work::collective;
  return Work::other;
}

}  // namespace aplomb::tool_tables

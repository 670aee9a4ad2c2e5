#pragma once
/// What a step's time goes to, told from the names that profilers print: torch.profiler's and
/// Kineto's operators and kernels, Python's own profilers. One vocabulary for tables and traces.

#include <string_view>

namespace aplomb::tool_tables {

enum class Work {
  other,
  loader,       ///< inside the data loader's iterator, or decoding samples
  disk,         ///< system calls that read files
  sync,         ///< the host waits for the card
  launch,       ///< the host launches kernels
  optimizer,    ///< the optimizer's step
  compile,      ///< building graphs or kernels
  collective,   ///< NCCL and its kin
  fp32_matmul,  ///< matrix products and convolutions without tensor cores
  copy,         ///< between host and card
};

/// `enumerate(DataLoader)#_MultiProcessing...`, `cudaStreamSynchronize`, `cudaLaunchKernel`,
/// `Optimizer.step#Adam.step`.
Work host_work(std::string_view name);

/// Of a kernel: `ncclDevKernel_AllReduce...`, `ampere_sgemm_128x64_tn`, `Memcpy HtoD`.
Work device_work(std::string_view name);

/// Of a Python function or line: `dataloader.py:1319(_next_data)`, `{method 'item' of ...}`,
/// `_get_data (torch/utils/data/dataloader.py:1284)`, `loss_sum += loss.item()`.
Work python_work(std::string_view name);

}  // namespace aplomb::tool_tables

#pragma once
/// TraceSummary: what a Kineto (PyTorch profiler) trace says of where a step's time goes, from its
/// events one by one. Memory: 16 bytes a device kernel, at most k_most_kernels; everything else is
/// sums.
///
/// Facts (shares are of the profiled steps' wall time, or of the events' span where no step is
/// marked):
///   trace.gpu_busy_share      time in which at least one kernel ran
///   trace.loader_share        time inside the data loader's iterator
///   trace.sync_share          time in cudaStreamSynchronize and its kin
///   trace.launch_share        time in kernel launches
///   trace.communication_share, trace.exposed_communication_share: NCCL kernels, and the part of
///                             them during which no other kernel ran
///   trace.copy_share, trace.optimizer_share, trace.fp32_matmul_share (of kernel time)
///   trace.steps, .step_s, .kernels_per_step, .mean_kernel_s

#include <cstdint>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::sources {

/// One complete event ("ph": "X") of a trace.
struct TraceEvent {
  std::string_view category;  ///< `Kernel` (2021), `kernel` (2022 and later), `cpu_op` ...
  std::string_view name;
  double begin_us = 0;
  double duration_us = 0;
  std::uint64_t offset = 0;  ///< byte in the trace
};

class TraceSummary {
 public:
  static constexpr std::size_t k_most_kernels = 4U << 20U;

  void add(const TraceEvent& event);
  /// Puts the facts and the step times into the Run. Nothing where no event was seen.
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Interval {
    double begin = 0;
    double end = 0;
  };
  struct Step {
    std::int64_t number = 0;
    double begin = 0;
    double duration = 0;
    std::uint64_t offset = 0;
  };

  void add_kernel(const TraceEvent& event);
  void add_host(const TraceEvent& event);
  static double covered(std::vector<Interval>& intervals, double from, double to);

  std::vector<Interval> kernels_;  ///< all but NCCL's
  std::vector<Interval> nccl_;
  std::vector<Step> steps_;
  double first_us_ = 0;
  double last_us_ = 0;
  bool any_ = false;
  std::uint64_t kernel_count_ = 0;
  double kernel_us_ = 0;
  double fp32_matmul_us_ = 0;
  double loader_us_ = 0;
  double sync_us_ = 0;
  double launch_us_ = 0;
  double copy_us_ = 0;
  double optimizer_us_ = 0;
};

}  // namespace aplomb::sources

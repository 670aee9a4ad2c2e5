#include "sources/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/text.h"
#include "tool_tables/work_kind.h"

namespace aplomb::sources {
void TraceSummary::add(const TraceEvent& event) {
  if (event.duration_us < 0) return;
  const double end = event.begin_us + event.duration_us;
  if (core::iequals(event.category, "kernel")) {
    add_kernel(event);
  } else if (core::iequals(event.category, "gpu_memcpy") ||
             core::iequals(event.category, "memcpy")) {
    copy_us_ += event.duration_us;
  } else if (core::iequals(event.category, "trace") ||
             core::iequals(event.category, "gpu_user_annotation") ||
             core::iequals(event.category, "python_function")) {
    return;
  } else {
    add_host(event);
  }
  if (!any_ || event.begin_us < first_us_) first_us_ = event.begin_us;
  if (!any_ || end > last_us_) last_us_ = end;
  any_ = true;
}

void TraceSummary::add_kernel(const TraceEvent& event) {
  ++kernel_count_;
  kernel_us_ += event.duration_us;
  const tool_tables::Work work = tool_tables::device_work(event.name);
  if (work == tool_tables::Work::fp32_matmul) fp32_matmul_us_ += event.duration_us;
  if (kernels_.size() + nccl_.size() >= k_most_kernels) return;
  (work == tool_tables::Work::collective ? nccl_ : kernels_)
      .push_back({event.begin_us, event.begin_us + event.duration_us});
}

void TraceSummary::add_host(const TraceEvent& event) {
  constexpr std::string_view k_step = "ProfilerStep#";
  if (event.name.starts_with(k_step)) {
    const core::NumberPrefix number = core::parse_number_prefix(event.name.substr(k_step.size()));
    steps_.push_back(
        {static_cast<std::int64_t>(number.value), event.begin_us, event.duration_us, event.offset});
    return;
  }
  switch (tool_tables::host_work(event.name)) {
    case tool_tables::Work::loader:
      loader_us_ += event.duration_us;
      break;
    case tool_tables::Work::optimizer:
      optimizer_us_ += event.duration_us;
      break;
    case tool_tables::Work::sync:
      sync_us_ += event.duration_us;
      break;
    case tool_tables::Work::launch:
      launch_us_ += event.duration_us;
      break;
    default:
      break;
  }
}

/// The length of the union of the intervals inside [from, to]; sorts them.
double TraceSummary::covered(std::vector<Interval>& intervals, double from, double to) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double sum = 0;
  double reached = from;
  for (const Interval& each : intervals) {
    const double begin = std::max(each.begin, reached);
    const double end = std::min(each.end, to);
    if (end > begin) sum += end - begin;
    reached = std::max(reached, std::min(each.end, to));
  }
  return sum;
}

void TraceSummary::finish(record::RunBuilder& build, record::SourceId source) {
  if (!any_) return;
  double from = first_us_;
  double to = last_us_;
  std::sort(steps_.begin(), steps_.end(),
            [](const Step& a, const Step& b) { return a.begin < b.begin; });
  if (!steps_.empty()) {
    from = steps_.front().begin;
    to = steps_.back().begin + steps_.back().duration;
    const record::SeriesId series =
        build.series(source, "step_time_s", "ProfilerStep", record::Role::step_time_s,
                     record::StepKind::explicit_);
    for (const Step& step : steps_) {
      build.append(series, step.number, step.duration * 1e-6, 0, step.offset);
    }
  }
  const double wall = to - from;
  if (!(wall > 0)) return;
  const record::Origin origin{source, 0, steps_.empty() ? 0 : steps_.front().offset};
  const auto say = [&](const char* name, core::Value value, std::string because) {
    build.fact({name, std::move(value), std::move(because), {origin}});
  };
  const auto share = [&](const char* name, double us, const char* words) {
    say(name, us / wall, fmt::format("{} {:.0f} % of the profiled time", words, 100 * us / wall));
  };
  say("trace.any", true, "a profiler's trace was read");
  if (!steps_.empty()) {
    const auto count = static_cast<double>(steps_.size());
    say("trace.steps", count, fmt::format("{:.0f} profiled steps", count));
    say("trace.step_s", wall * 1e-6 / count, fmt::format("{:.3f} s a step", wall * 1e-6 / count));
    say("trace.kernels_per_step", static_cast<double>(kernel_count_) / count,
        fmt::format("{:.0f} kernels a step", static_cast<double>(kernel_count_) / count));
  }
  share("trace.loader_share", loader_us_, "the data loader's iterator takes");
  share("trace.sync_share", sync_us_, "waiting for the card takes");
  share("trace.launch_share", launch_us_, "launching kernels takes");
  share("trace.optimizer_share", optimizer_us_, "the optimizer's step takes");
  share("trace.copy_share", copy_us_, "copies take");
  if (kernel_count_ == 0) return;
  const double compute = covered(kernels_, from, to);
  share("trace.communication_share", covered(nccl_, from, to), "NCCL kernels run");
  kernels_.insert(kernels_.end(), nccl_.begin(), nccl_.end());
  const double busy = covered(kernels_, from, to);
  share("trace.gpu_busy_share", busy, "kernels run");
  share("trace.exposed_communication_share", busy - compute, "only NCCL kernels run");
  say("trace.mean_kernel_s", kernel_us_ * 1e-6 / static_cast<double>(kernel_count_),
      fmt::format("{:.1f} us a kernel", kernel_us_ / static_cast<double>(kernel_count_)));
  say("trace.fp32_matmul_share", fp32_matmul_us_ / kernel_us_,
      fmt::format("{:.0f} % of the kernels' time in fp32 matrix products",
                  100 * fp32_matmul_us_ / kernel_us_));
}

}  // namespace aplomb::sources

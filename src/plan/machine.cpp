#include "plan/machine.h"

#include <algorithm>

#include "knowledge/document.h"
#include "knowledge/hardware.h"

namespace aplomb::plan {
namespace {

double figure(const char* name) {
  static const knowledge::Node machine = knowledge::file("plan.yaml")["machine"];
  return knowledge::number_of(machine, name);
}

constexpr double k_gib = 1024.0 * 1024 * 1024;

double peak_of(const knowledge::Gpu& card, std::string_view format) {
  for (const auto& [name, flops] : card.peak_flops) {
    if (name == format) return flops;
  }
  return 0;
}

}  // namespace

double gpus_named(const std::string& gpu) {
  const auto seen = knowledge::find_named_gpu(gpu);
  return seen ? seen->count : 0;
}

SeenMachine machine_of(const Known& known, const std::string& gpu, const Training& training) {
  SeenMachine out;
  const bool several = training.parallelism.gpus > 1;
  out.context_bytes = (figure("context_gib") + (several ? figure("collectives_gib") : 0)) * k_gib;
  out.fragmentation = figure("fragmentation");
  const std::string asked = gpu.empty() ? known.word("env.gpu") : gpu;
  const auto seen = knowledge::find_named_gpu(asked);
  if (!seen) {
    out.machine.memory_bytes = known.size("env.gpu_memory_bytes", 0);
    return out;
  }
  const knowledge::Gpu& card = *seen->card;
  out.name = card.name;
  out.count = seen->count;
  out.machine.memory_bytes = seen->memory_bytes;
  out.verified = card.is_verified("peak") && card.is_verified("bandwidth") && !seen->is_lesser;
  const bool tf32 = known.truth("precision.tf32") && peak_of(card, "tf32") > 0;
  const double narrow = std::max(peak_of(card, "bf16"), peak_of(card, "fp16"));
  const double wide = tf32 ? peak_of(card, "tf32") : peak_of(card, "fp32");
  const int width =
      training.precision.autocast > 0 ? training.precision.autocast : training.precision.stored;
  out.peak_flops = width >= 4 ? wide : narrow;
  out.machine.rates = {narrow * figure("products"), wide * figure("products"),
                       card.bandwidth_bytes_per_s * figure("bandwidth")};
  out.machine.host_bytes_per_s = figure("pcie_gb_per_s") * 1e9 * figure("link");
  const double link =
      card.link_bytes_per_s > 0 ? card.link_bytes_per_s : figure("pcie_gb_per_s") * 1e9;
  const double between = figure("node_link_gb_per_s") * 1e9;
  out.machine.link_bytes_per_s =
      (training.parallelism.nodes > 1 ? std::min(link, between) : link) * figure("link");
  return out;
}

}  // namespace aplomb::plan

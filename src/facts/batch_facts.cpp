#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"
#include "facts/common_facts.h"

namespace aplomb::facts {
namespace {

/// Data-parallel ranks, where they are said: all of them, less the ways each model is split.
void derive_ranks(FactView& view) {
  std::optional<double> ranks = view.positive("batch.world");
  const double split = view.positive("dist.tensor_parallel").value_or(1) *
                       view.positive("dist.pipeline_parallel").value_or(1) *
                       view.positive("dist.context_parallel").value_or(1);
  std::optional<double> all = view.positive("dist.world_size");
  if (const auto per_node = view.positive("dist.procs_per_node"); per_node && !all)
    all = *per_node * view.positive("dist.nodes").value_or(1);
  if (!ranks && all) ranks = std::max(1.0, *all / split);
  if (!ranks) return;
  view.set("config.ranks", *ranks, core::show_number(*ranks) + " data-parallel ranks",
           {"batch.world", "dist.world_size", "dist.procs_per_node"});
}

/// Samples of one optimizer step: as stated, else micro-batch x accumulation x ranks.
void derive_batch(FactView& view) {
  const FactView::Names from = {"batch.micro", "batch.accumulation", "batch.world",
                                "dist.world_size"};
  const auto micro = view.positive("batch.micro");
  if (!micro) return;
  const auto ranks = view.positive("config.ranks");
  const auto global = view.positive("batch.global");
  double accumulation = view.positive("batch.accumulation").value_or(1);
  // Programs that take the whole batch and the micro-batch accumulate what is between them.
  const bool said = accumulation > 1 || !view.statements("batch.accumulation").empty();
  if (global && !said) {
    const double passes = *global / (*micro * ranks.value_or(1));
    if (passes >= 1 && passes == std::floor(passes)) accumulation = passes;
  }
  const double product = *micro * accumulation * ranks.value_or(1);
  std::string told = fmt::format("{} a device x {} accumulated", core::show_number(*micro),
                                 core::show_number(accumulation));
  const bool shared = global && !ranks && !said && accumulation > 1;
  told += ranks    ? fmt::format(" x {} ranks", core::show_number(*ranks))
          : shared ? ", or shared out over the ranks"
                   : " on each rank";
  view.set("config.batch_told", told, told, from);
  view.set("config.batch_product", product, told, from);
  view.set("batch.global", product, "a global batch of " + core::show_number(product), from);
}

}  // namespace

std::vector<Deriver> batch_facts() {
  return {
      {.name = "ranks",
       .reads = {"batch.world", "dist.world_size", "dist.tensor_parallel", "dist.pipeline_parallel",
                 "dist.context_parallel", "dist.procs_per_node", "dist.nodes"},
       .gives = {"config.ranks"},
       .derive = derive_ranks},
      {.name = "batch",
       .reads = {"batch.micro", "batch.accumulation", "setting:batch.accumulation", "batch.global",
                 "batch.world", "dist.world_size", "config.ranks"},
       .gives = {"config.batch_told", "config.batch_product"},
       .fills = {"batch.global"},
       .derive = derive_batch}};
}

}  // namespace aplomb::facts

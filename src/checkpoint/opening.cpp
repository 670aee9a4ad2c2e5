#include "checkpoint/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "checkpoint/tensor_shard.h"
#include "core/text.h"

namespace aplomb::checkpoint {

void Opening::note(std::string kind, core::Severity severity, const std::string& path,
                   std::string text) {
  out.findings.push_back({std::move(kind), severity, path, 0, std::move(text)});
}

void Opening::unreadable(const std::string& path, const core::Error& error) {
  note("checkpoint.unreadable", core::Severity::failed, path, error.text);
}

void Opening::refuse(const std::string& path, const std::string& why) {
  note("checkpoint.unsupported", core::Severity::warning, path,
       fmt::format("[checkpoint] {} {}", path, why));
}

void Opening::join(const tensors::Findings& findings) {
  for (const tensors::Finding& each : findings.list()) {
    // What a pickle would run is told once for each file, by folder_audit.h.
    if (!each.kind.starts_with("pickle.")) out.findings.push_back(each);
  }
  out.findings_dropped += findings.dropped();
}

void Opening::add_weight(tensors::Tensor tensor, std::size_t file) {
  tensor.file = file;
  if (tensor.shard != nullptr) {
    std::vector<tensors::Tensor>& parts = parts_[tensor.name];
    parts.push_back(tensor);
    if (parts.size() > 1) return;
  }
  if (!names.insert(tensor.name).second) {
    note("checkpoint.duplicate-name", core::Severity::warning, out.path,
         fmt::format("[checkpoint] {} stands in two files; the first is taken",
                     core::shorten(core::sanitize(tensor.name), 80)));
    return;
  }
  out.tensors.push_back(std::move(tensor));
}

/// `optimizer_1.bin` beside `optimizer.bin`: another optimizer of the same run (accelerate). Its
/// parameters are counted behind those of the first.
void Opening::append_optimizer(OptimizerState more) {
  OptimizerState& all = *out.optimizer;
  std::int64_t shift = 0;
  for (const OptimizerGroup& group : all.groups)
    for (const std::int64_t each : group.parameters) shift = std::max(shift, each + 1);
  for (OptimizerGroup& group : more.groups) {
    for (std::int64_t& each : group.parameters) each += shift;
    all.groups.push_back(std::move(group));
  }
  for (ParameterState& each : more.states) {
    each.id += shift;
    for (auto& [name, at] : each.tensors) at += all.tensors.size();
    all.states.push_back(std::move(each));
  }
  std::move(more.tensors.begin(), more.tensors.end(), std::back_inserter(all.tensors));
  all.optimizers += more.optimizers;
}

void Opening::add_optimizer(OptimizerState state, bool of_rank) {
  const std::size_t end = state.path.rfind('.');
  const bool numbered = end != std::string::npos && end > 1 && state.path[end - 2] == '_' &&
                        state.path[end - 1] >= '0' && state.path[end - 1] <= '9';
  if (of_rank) {
    rank_optimizers_.push_back(std::move(state));
  } else if (!out.optimizer) {
    out.optimizer = std::move(state);
  } else if (numbered && !state.name_keyed) {
    append_optimizer(std::move(state));
  }
}

void Opening::finish(bool alone) {
  join_weights(alone);
  join_optimizers();
}

void Opening::join_weights(bool alone) {
  std::size_t apart = 0;
  std::string first;
  for (tensors::Tensor& tensor : out.tensors) {
    if (tensor.shard == nullptr) continue;
    std::string why;
    tensors::Tensor joined = join_shards(std::move(parts_.at(tensor.name)), why);
    if (!why.empty() && ++apart == 1) first = tensor.name + ": " + why;
    if (why.empty() || !alone) tensor = std::move(joined);
  }
  if (apart == 0) return;
  note(
      alone ? "checkpoint.partial" : "checkpoint.incomplete",
      alone ? core::Severity::note : core::Severity::failed, out.path,
      fmt::format("[checkpoint] {} tensors are parts{}, the first: {}", apart,
                  alone ? "; the other ranks' files hold the rest" : " that do not make up a whole",
                  core::shorten(core::sanitize(first), 160)));
}

/// The states of all ranks have the same parameters; each holds its parts of their tensors.
void Opening::join_optimizers() {
  if (rank_optimizers_.empty() || out.optimizer) return;
  std::map<std::string, std::vector<tensors::Tensor>> parts;
  for (OptimizerState& rank : rank_optimizers_) {
    for (tensors::Tensor& each : rank.tensors) {
      if (each.shard != nullptr) parts[each.name].push_back(each);
    }
  }
  OptimizerState whole = std::move(rank_optimizers_.front());
  std::string why;
  for (tensors::Tensor& each : whole.tensors) {
    if (each.shard == nullptr || !why.empty()) continue;
    each = join_shards(std::move(parts.at(each.name)), why);
  }
  if (why.empty()) {
    out.optimizer = std::move(whole);
  } else {
    note("checkpoint.incomplete", core::Severity::failed, whole.path,
         fmt::format("[checkpoint] the optimizer's parts do not make up a whole: {}", why));
  }
}

}  // namespace aplomb::checkpoint

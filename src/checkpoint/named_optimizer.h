#pragma once
/// Builds an OptimizerState whose parameters are known by name, as sharded checkpoints keep them.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "checkpoint/checkpoint.h"

namespace aplomb::checkpoint {

class NamedOptimizer {
 public:
  void tensor(const std::string& parameter, const std::string& key, tensors::Tensor tensor);
  void step(const std::string& parameter, double step);
  /// Which group the parameter is in; parameters that nobody assigns are in the first.
  void group_of(const std::string& parameter, std::size_t group);
  OptimizerGroup& group(std::size_t index);

  bool empty() const { return states_.empty(); }
  OptimizerState finish(std::string path);

 private:
  std::int64_t id_of(const std::string& parameter);

  OptimizerState out_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::map<std::int64_t, ParameterState> states_;
  std::map<std::int64_t, std::size_t> groups_;
};

}  // namespace aplomb::checkpoint

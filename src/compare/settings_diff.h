#pragma once
/// What two runs were told differently: canonical settings, most suspicious first.

#include <optional>
#include <string>
#include <vector>

#include "record/run.h"

namespace aplomb::compare {

/// What a setting can change, in the order of suspicion.
enum class Reach {
  training,     ///< the numbers that training computes: rates, batches, formats, model, data
  seed,         ///< which of many equal runs this is
  execution,    ///< how it is carried out: distribution, memory, kernels
  environment,  ///< versions and hardware
  bookkeeping,  ///< logs, checkpoints, evaluation
};
std::string_view name(Reach reach);

struct SettingSide {
  core::Value value;
  std::string path;
  std::uint64_t line = 0;  ///< 0 where lines have no meaning
};

struct SettingDifference {
  std::string name;
  Reach reach = Reach::training;
  std::optional<SettingSide> a;  ///< nothing: that run does not state it
  std::optional<SettingSide> b;
};

/// By reach; of one reach those that both state first, of them the usual suspects, of them numbers
/// that are further apart (as a ratio). Micro-batch, accumulation and ranks whose product is the
/// same in both count as execution.
std::vector<SettingDifference> settings_diff(const record::Run& a, const record::Run& b);

}  // namespace aplomb::compare

#pragma once
/// TimeShares: what a profiler's table says of where the time goes, by kind of work, as facts that
/// the causes of slow runs ask for:
///   profile.loader_share, .disk_share, .sync_share, .launch_share, .optimizer_share,
///   .compile_share    of the host's time (Lightning, Megatron: of the step)
///   profile.nccl_share, .sgemm_share, .copy_share    of the card's time
/// A kind that the table would have shown is `watch`ed: 0 is then known, not unknown.

#include <array>
#include <initializer_list>

#include "record/run_builder.h"
#include "tool_tables/work_kind.h"

namespace aplomb::tool_tables {

class TimeShares {
 public:
  void watch(std::initializer_list<Work> kinds);
  /// Adds to the kind's share: rows that stand beside each other.
  void add(Work kind, double share);
  /// Raises the kind's share to this: rows that contain each other.
  void reach(Work kind, double share);
  double of(Work kind) const { return shares_[index(kind)]; }
  void say(record::RunBuilder& build, const record::Origin& origin) const;

 private:
  static constexpr std::size_t k_kinds = static_cast<std::size_t>(Work::copy) + 1;
  static constexpr std::size_t index(Work kind) { return static_cast<std::size_t>(kind); }
  std::array<double, k_kinds> shares_{};
  std::array<bool, k_kinds> known_{};
};

}  // namespace aplomb::tool_tables

#include "tool_tables/time_shares.h"

#include <fmt/format.h>

#include <algorithm>

namespace aplomb::tool_tables {
namespace {

struct Wording {
  Work kind;
  const char* fact;
  const char* words;
};
constexpr std::array<Wording, 9> k_wordings = {{
    {Work::loader, "profile.loader_share", "the data loader takes"},
    {Work::disk, "profile.disk_share", "reading files takes"},
    {Work::sync, "profile.sync_share", "waiting for the card takes"},
    {Work::launch, "profile.launch_share", "launching kernels takes"},
    {Work::optimizer, "profile.optimizer_share", "the optimizer takes"},
    {Work::compile, "profile.compile_share", "compiling takes"},
    {Work::collective, "profile.nccl_share", "collectives take"},
    {Work::fp32_matmul, "profile.sgemm_share", "fp32 matrix products take"},
    {Work::copy, "profile.copy_share", "copies take"},
}};

const char* whose(Work kind) {
  const bool device = kind == Work::collective || kind == Work::fp32_matmul || kind == Work::copy;
  return device ? "of the card's time" : "of the host's time";
}

}  // namespace

void TimeShares::watch(std::initializer_list<Work> kinds) {
  for (const Work kind : kinds) known_[index(kind)] = true;
}

void TimeShares::add(Work kind, double share) {
  known_[index(kind)] = true;
  shares_[index(kind)] += share;
}

void TimeShares::reach(Work kind, double share) {
  known_[index(kind)] = true;
  shares_[index(kind)] = std::max(shares_[index(kind)], share);
}

void TimeShares::say(record::RunBuilder& build, const record::Origin& origin) const {
  build.fact({"profile.any", true, "a profiler's table was read", {origin}});
  for (const Wording& each : k_wordings) {
    if (!known_[index(each.kind)]) continue;
    const double share = std::clamp(shares_[index(each.kind)], 0.0, 1.0);
    build.fact({each.fact,
                share,
                fmt::format("{} {:.0f} % {}", each.words, 100 * share, whose(each.kind)),
                {origin}});
  }
}

}  // namespace aplomb::tool_tables

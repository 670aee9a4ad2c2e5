#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/text.h"
#include "diagnosis/caught_values.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// One rank's time-out, as its watchdog told it.
struct Timeout {
  int rank = -1;
  double seq = -1;
  std::string op;
  double numel_in = -1;
  double numel_out = -1;
  record::Origin origin;
};

std::vector<Timeout> timeouts_of(const FactView& view) {
  std::vector<Timeout> timeouts;
  for (const record::Event* event : view.events("nccl-watchdog")) {
    timeouts.push_back({event->rank, caught_number(*event, "seq"), caught_text(*event, "op_text"),
                        caught_number(*event, "numel_in"), caught_number(*event, "numel_out"),
                        event->origin});
  }
  return timeouts;
}

/// The first time-out of each rank: later ones are of the collectives that were queued behind it.
std::map<int, Timeout> first_of_each_rank(const std::vector<Timeout>& timeouts) {
  std::map<int, Timeout> first;
  for (const Timeout& timeout : timeouts) {
    const auto [place, is_new] = first.try_emplace(timeout.rank, timeout);
    if (!is_new && timeout.seq >= 0 && timeout.seq < place->second.seq) place->second = timeout;
  }
  return first;
}

std::string describe(const Timeout& timeout) {
  std::string words =
      timeout.rank >= 0 ? fmt::format("rank {}: {}", timeout.rank, timeout.op) : timeout.op;
  if (timeout.seq >= 0) words += fmt::format(" number {:.0f}", timeout.seq);
  if (timeout.numel_in >= 0) words += fmt::format(" of {:.0f} elements", timeout.numel_in);
  return words;
}

class HangComparison {
 public:
  explicit HangComparison(FactView& view)
      : view_(view), timeouts_(timeouts_of(view)), ranks_(first_of_each_rank(timeouts_)) {}

  void say() {
    if (timeouts_.empty()) return;
    say_first();
    say_differences();
    say_missing();
    say_progress();
  }

 private:
  void set(const char* name, core::Value value, std::string because,
           std::vector<record::Origin> origins = {}) {
    if (origins.empty()) origins.push_back(timeouts_.front().origin);
    view_.set_at(name, std::move(value), std::move(because), std::move(origins));
  }

  void say_first() {
    const Timeout& first = timeouts_.front();
    set("hang.timed_out_ranks", static_cast<double>(ranks_.size()),
        fmt::format("{} ranks timed out", ranks_.size()));
    set("hang.op", first.op, describe(first));
    if (first.numel_in >= 0) {
      set("hang.numel", first.numel_in, describe(first));
      set("hang.one_element", first.numel_in == 1, describe(first));
    }
    // 100 collectives are fewer than one step of any data-parallel model: the job had come past its
    // start.
    if (first.seq >= 0) set("hang.late_seq", first.seq > 100, describe(first));
    for (const record::Event* event : view_.events("nccl-watchdog")) {
      const double timeout_ms = caught_number(*event, "timeout_ms");
      if (timeout_ms < 0) continue;
      const double seconds = timeout_ms / 1000;
      set("hang.timeout_s", seconds, fmt::format("time-out {:.0f} s", seconds));
      // 1800 s: torch.distributed's default_pg_timeout; 600 s: its NCCL default since 2.2.
      set("hang.default_timeout", seconds == 1800 || seconds == 600,
          fmt::format("time-out {:.0f} s", seconds));
      break;
    }
  }

  void say_differences() {
    if (ranks_.size() < 2) return;
    const Timeout* base = &ranks_.begin()->second;
    bool same_seq = true;
    for (const auto& [rank, timeout] : ranks_) {
      if (timeout.seq != base->seq) {
        same_seq = false;
        set("hang.seq_differs", true, describe(*base) + "; " + describe(timeout),
            {base->origin, timeout.origin});
      }
      const std::string both = describe(*base) + "; " + describe(timeout);
      if (timeout.op != base->op)
        set("hang.collectives_differ", true, both, {base->origin, timeout.origin});
      if (timeout.op == base->op && timeout.seq == base->seq &&
          timeout.numel_in != base->numel_in) {
        set("hang.sizes_differ", true, both, {base->origin, timeout.origin});
      }
    }
    const std::string agreed =
        fmt::format("{} ranks wait in the same collective: {}", ranks_.size(), describe(*base));
    if (same_seq) set("hang.seq_differs", false, agreed);
    set("hang.collectives_differ", false, agreed);
    set("hang.sizes_differ", false, agreed);
  }

  /// Ranks that spoke anywhere in the artifacts, but not in a time-out.
  void say_missing() {
    std::set<int> seen;
    for (const record::Event& event : view_.all_events()) seen.insert(event.rank);
    for (const record::Series& series : view_.all_series()) seen.insert(series.rank);
    int highest = -1;
    if (!seen.empty()) highest = *seen.rbegin();
    double world = highest + 1;
    world = std::max(world, view_.number("dist.world_size").value_or(world));
    const double missing = world - static_cast<double>(ranks_.count(-1) ? 0 : ranks_.size());
    if (ranks_.count(-1) != 0 || world < 2) return;
    set("hang.missing_ranks", std::max(0.0, missing),
        fmt::format("{} of {:.0f} ranks timed out", ranks_.size(), world));
  }

  void say_progress() {
    double least = -1;
    double most = -1;
    record::Origin origin;
    for (const record::Event* event : view_.events("nccl-progress")) {
      const double enqueued = caught_number(*event, "enqueued");
      if (enqueued < 0) continue;
      if (least < 0 || enqueued < least) least = enqueued;
      most = std::max(most, enqueued);
      origin = event->origin;
    }
    if (least < 0) return;
    set("hang.enqueued_differs", least != most,
        fmt::format("the last enqueued collectives of the ranks are {:.0f} to {:.0f}", least, most),
        {origin});
  }

  FactView& view_;
  std::vector<Timeout> timeouts_;
  std::map<int, Timeout> ranks_;
};

}  // namespace

/// Where ranks dumped their flight recorders as well, what those say of the collectives counts.
std::vector<facts::Deriver> hang_facts() {
  return {{.name = "time-outs",
           .reads = {"event:nccl-watchdog", "event:nccl-progress", "event:*", "series:*",
                     "dist.world_size"},
           .gives = {"hang.timed_out_ranks", "hang.numel", "hang.one_element", "hang.timeout_s",
                     "hang.default_timeout", "hang.seq_differs", "hang.missing_ranks",
                     "hang.enqueued_differs"},
           .fills = {"hang.op", "hang.late_seq", "hang.collectives_differ", "hang.sizes_differ"},
           .derive = [](FactView& view) { HangComparison(view).say(); }}};
}

}  // namespace aplomb::diagnosis

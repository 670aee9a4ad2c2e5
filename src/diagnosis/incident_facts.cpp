#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "diagnosis/rule_facts.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

using Words = std::set<std::string, std::less<>>;

/// Kinds that only say that ranks waited, or that a process group broke because of something else.
bool is_waiting(std::string_view kind) {
  static const Words waiting = {"nccl-watchdog",     "nccl-heartbeat",    "gloo-timeout",
                                "nccl-system-error", "process-exit",      "nccl-cascade",
                                "horovod-stall",     "monitored-barrier", "collectives-mismatch",
                                "rendezvous-failed", "nccl-net-connect"};
  return waiting.contains(kind);
}

/// Kinds that say that something failed, but not what: a named failure comes before them.
bool is_general(std::string_view kind) {
  static const Words general = {"python-exception", "traceback", "exit-segfault", "process-killed"};
  return general.contains(kind);
}

using Line = std::pair<record::SourceId, std::uint64_t>;
Line line_of(const record::Event& event) { return {event.origin.source, event.origin.offset}; }

struct Failures {
  const record::Event* named = nullptr;
  const record::Event* general = nullptr;
  const record::Event* waiting = nullptr;
  std::set<std::string> kinds;
};

Failures sort_failures(const std::vector<record::Event>& events) {
  std::set<Line> waiting_lines;
  for (const record::Event& event : events) {
    if (is_waiting(event.kind)) waiting_lines.insert(line_of(event));
  }
  Failures failures;
  for (const record::Event& event : events) {
    if (event.severity != core::Severity::failed) continue;
    failures.kinds.insert(event.kind);
    // `RuntimeError: [Rank 0] Watchdog caught ...` is an exception too, but tells of the waiting.
    const bool waits = is_waiting(event.kind) || waiting_lines.contains(line_of(event));
    const record::Event*& place = waits                    ? failures.waiting
                                  : is_general(event.kind) ? failures.general
                                                           : failures.named;
    if (place == nullptr) place = &event;
  }
  return failures;
}

void derive_root(FactView& view) {
  const Failures failures = sort_failures(view.all_events());
  const record::Event* root = failures.named != nullptr ? failures.named : failures.general;
  if (root != nullptr && failures.waiting != nullptr) {
    const std::string text = core::shorten(root->text, 160);
    view.set_at("hang.other_failure", true, text, {root->origin, failures.waiting->origin});
    if (root->rank >= 0) {
      view.set_at("hang.failed_rank", static_cast<double>(root->rank), text, {root->origin});
      view.set_at("hang.failed_text", text, text, {root->origin});
    }
  }
  const record::Event* first = root != nullptr ? root : failures.waiting;
  if (first == nullptr) return;
  view.set_at("incident.root", first->kind, core::shorten(first->text, 160), {first->origin});
  view.set_at("incident.count", static_cast<double>(failures.kinds.size()),
              fmt::format("{} kinds of failure", failures.kinds.size()), {first->origin});
}

}  // namespace

std::vector<facts::Deriver> incident_facts() {
  return facts::joined({{{.name = "first failure",
                          .reads = {"event:*"},
                          .gives = {"incident.root", "incident.count", "hang.other_failure",
                                    "hang.failed_rank", "hang.failed_text"},
                          .derive = derive_root}},
                        rule_facts(knowledge::file("incidents.yaml"))});
}

}  // namespace aplomb::diagnosis

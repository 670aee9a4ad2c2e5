#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/caught_values.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// What one rank had pending in a group when it dumped.
struct Pending {
  double first = -1;
  double last = -1;  // -1: nothing pending
  double numel = -1;
  std::string op;
  const record::Event* event = nullptr;
};

/// A group of ranks, as its name and members say together: one name is used for several groups.
struct FlightGroup {
  std::string what;
  std::map<int, Pending> ranks;

  double furthest() const {
    double most = -1;
    for (const auto& [rank, pending] : ranks) most = std::max(most, pending.last);
    return most;
  }
};

/// Collectives whose ranks may send different amounts.
bool may_differ_in_size(const std::string& op) {
  return op.find("all_to_all") != std::string::npos || op.find("gather") != std::string::npos ||
         op.find("scatter") != std::string::npos;
}

std::string joined(const std::set<int>& ranks) {
  std::string words;
  for (const int rank : ranks) words += fmt::format("{}{}", words.empty() ? "" : ", ", rank);
  return words;
}

class FlightComparison {
 public:
  explicit FlightComparison(FactView& view) : view_(view) {
    for (const record::Event* each : view.events("flight-group")) {
      const record::Event& event = *each;
      if (event.rank < 0) continue;
      const std::string members = caught_text(event, "members");
      FlightGroup& group = groups_[caught_text(event, "group") + ":" + members];
      group.what = caught_text(event, "what");
      group.ranks[event.rank] = {caught_number(event, "first"), caught_number(event, "last"),
                                 caught_number(event, "numel"), caught_text(event, "op"), &event};
    }
  }

  void say() {
    if (groups_.empty()) return;
    say_absent();
    for (const auto& [name, group] : groups_) say_differences(group);
  }

 private:
  /// A rank is behind in a group where others have enqueued collectives that it has not. One that
  /// is itself level with the others in a group where someone is behind waits for that one: it is
  /// behind elsewhere because of it, and is not to blame.
  void say_absent() {
    std::set<int> behind;
    std::set<int> waiting;
    const FlightGroup* where = nullptr;
    for (const auto& [name, group] : groups_) {
      const double furthest = group.furthest();
      if (furthest < 0 || group.ranks.size() < 2) continue;
      std::set<int> late;
      for (const auto& [rank, pending] : group.ranks) {
        if (pending.last < furthest) late.insert(rank);
      }
      if (late.empty()) continue;
      behind.insert(late.begin(), late.end());
      for (const auto& [rank, pending] : group.ranks) {
        if (pending.last == furthest) waiting.insert(rank);
      }
      if (where == nullptr || group.ranks.size() > where->ranks.size()) where = &group;
    }
    if (where == nullptr) {
      set("hang.absent_ranks", 0.0, "all ranks that dumped wait in the same collectives", nullptr);
      return;
    }
    std::set<int> absent;
    std::set_difference(behind.begin(), behind.end(), waiting.begin(), waiting.end(),
                        std::inserter(absent, absent.end()));
    if (absent.empty()) absent = behind;
    const int first = *absent.begin();
    const auto place = where->ranks.find(first);
    const std::string words = fmt::format(
        "rank {} did not enqueue what the others wait for in group {} (they are at number {:.0f})",
        joined(absent), where->what, where->furthest());
    const record::Event* event =
        place == where->ranks.end() ? where->ranks.begin()->second.event : place->second.event;
    set("hang.absent_ranks", static_cast<double>(absent.size()), words, event);
    set("hang.absent_rank", joined(absent), words, event);
    set("hang.late_seq", where->furthest() > 100, words, event);
  }

  /// Ranks that stand at the same number of one group, in different collectives or sizes.
  void say_differences(const FlightGroup& group) {
    const Pending* base = nullptr;
    for (const auto& [rank, pending] : group.ranks) {
      if (pending.last < 0) continue;
      if (base == nullptr) {
        base = &pending;
        set("hang.op", pending.op, pending.event->text, pending.event);
        continue;
      }
      if (pending.first != base->first) continue;
      const std::string both = base->event->text + "; " + pending.event->text;
      if (pending.op != base->op) set("hang.collectives_differ", true, both, pending.event);
      if (pending.op == base->op && pending.numel != base->numel && !may_differ_in_size(base->op))
        set("hang.sizes_differ", true, both, pending.event);
    }
  }

  void set(const char* name, core::Value value, std::string because, const record::Event* event) {
    std::vector<record::Origin> origins;
    if (event != nullptr) origins.push_back(event->origin);
    view_.set_at(name, std::move(value), std::move(because), std::move(origins));
  }

  FactView& view_;
  std::map<std::string, FlightGroup> groups_;
};

}  // namespace

std::vector<facts::Deriver> flight_facts() {
  return {{.name = "flight recorders",
           .reads = {"event:flight-group"},
           .gives = {"hang.absent_ranks", "hang.absent_rank", "hang.late_seq", "hang.op",
                     "hang.collectives_differ", "hang.sizes_differ"},
           .derive = [](FactView& view) { FlightComparison(view).say(); }}};
}

}  // namespace aplomb::diagnosis

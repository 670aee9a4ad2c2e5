#include "facts/fact_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace aplomb::facts {
namespace {

using Index = std::size_t;

/// Who gives a fact, in the order in which they may: the one that gives it, then those that fill it.
class Givers {
 public:
  Givers(const std::vector<Deriver>& derivers, std::vector<std::string>& faults) {
    for (Index i = 0; i < derivers.size(); ++i) {
      for (const std::string& fact : derivers[i].gives) {
        const auto [place, is_new] = by_fact_.try_emplace(fact, std::vector<Index>{i});
        if (!is_new) {
          faults.push_back(fmt::format("{} is given by '{}' and by '{}'", fact,
                                       derivers[place->second.front()].name, derivers[i].name));
        }
      }
    }
    for (Index i = 0; i < derivers.size(); ++i) {
      for (const std::string& fact : derivers[i].fills) by_fact_[fact].push_back(i);
    }
    for (const auto& [fact, givers] : by_fact_) {
      if (fact.ends_with('*')) open_.push_back(fact);
    }
  }

  template <class Visit>
  void of(const std::string& name, Visit visit) const {
    if (name.ends_with('*')) {
      for (const auto& [fact, givers] : by_fact_) {
        if (fits(name, fact)) std::for_each(givers.begin(), givers.end(), visit);
      }
    } else if (const auto known = by_fact_.find(name); known != by_fact_.end()) {
      std::for_each(known->second.begin(), known->second.end(), visit);
    }
    for (const std::string& pattern : open_) {
      const std::vector<Index>& givers = by_fact_.at(pattern);
      if (fits(pattern, name)) std::for_each(givers.begin(), givers.end(), visit);
    }
  }

 private:
  std::unordered_map<std::string, std::vector<Index>> by_fact_;
  std::vector<std::string> open_;
};

/// For each deriver those that must run before it.
std::vector<std::set<Index>> order_of(const std::vector<Deriver>& derivers, const Givers& givers) {
  std::vector<std::set<Index>> before(derivers.size());
  for (Index i = 0; i < derivers.size(); ++i) {
    const auto wait_for = [&](Index other) {
      if (other != i) before[i].insert(other);
    };
    for (const std::string& name : derivers[i].reads) givers.of(name, wait_for);
    for (const std::string& fact : derivers[i].fills) {
      bool is_later = false;
      givers.of(fact, [&](Index other) {
        is_later = is_later || other == i;
        if (!is_later) before[i].insert(other);
      });
    }
  }
  return before;
}

}  // namespace

FactGraph::FactGraph(std::vector<Deriver> derivers) {
  const Givers givers(derivers, faults_);
  const std::vector<std::set<Index>> before = order_of(derivers, givers);
  std::vector<bool> done(derivers.size(), false);
  const auto is_ready = [&](Index i) {
    return !done[i] && std::all_of(before[i].begin(), before[i].end(),
                                   [&](Index other) { return done[other]; });
  };
  for (Index placed = 0; placed < derivers.size(); ++placed) {
    Index next = 0;
    while (next < derivers.size() && !is_ready(next)) ++next;
    if (next == derivers.size()) {
      next = static_cast<Index>(std::find(done.begin(), done.end(), false) - done.begin());
      for (const Index other : before[next]) {
        if (done[other]) continue;
        faults_.push_back(fmt::format("'{}' waits for '{}', and that, in the end, for it",
                                      derivers[next].name, derivers[other].name));
      }
    }
    done[next] = true;
    derivers_.push_back(derivers[next]);
  }
}

void FactGraph::derive(const record::Run& run, FactTable& facts, FactTrace* trace) const {
  for (const Deriver& deriver : derivers_) {
    FactView view(run, facts, trace == nullptr ? nullptr : &(*trace)[deriver.name]);
    deriver.derive(view);
  }
}

std::vector<Deriver> joined(std::vector<std::vector<Deriver>> lists) {
  std::vector<Deriver> all;
  for (std::vector<Deriver>& list : lists)
    all.insert(all.end(), std::make_move_iterator(list.begin()),
               std::make_move_iterator(list.end()));
  return all;
}

}  // namespace aplomb::facts

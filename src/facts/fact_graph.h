#pragma once
/// FactGraph: derived facts as a graph. A deriver is a free function over a FactView that declares
/// what it asks for and what it gives; the graph runs them so that each fact is there before it is
/// asked for, in whatever order they are listed.
///
///     void derive_gap(FactView& view) { ... view.set("eval.gap", *held_out - *train, ...); }
///
///     const FactGraph graph({{.name = "eval gap", .reads = {"loss.last", "eval_loss.last"},
///                             .gives = {"eval.gap"}, .derive = derive_gap}});
///     graph.derive(run, facts);
///
/// Each fact is given by one deriver at most. One that has something to say only where neither a
/// reading of the run nor another deriver gave the fact *fills* it, in the order of the list.
///
/// Names may end in `*` (`error.*`), where what is asked for is known only at run time. Readings of
/// the run are named as in facts/fact_view.h. The tests hold every deriver to its declaration:
/// tests/facts/graph_checks.h.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "facts/fact_view.h"

namespace aplomb::facts {

struct Deriver {
  std::string name;
  std::vector<std::string> reads = {};
  std::vector<std::string> gives = {};
  std::vector<std::string> fills = {};  ///< given only where nobody else gave it
  std::function<void(FactView&)> derive = {};
};

/// What each deriver of a graph asked for and gave, by its name.
using FactTrace = std::map<std::string, FactUse, std::less<>>;

class FactGraph {
 public:
  /// Sorted once; those that do not depend on each other keep their order.
  explicit FactGraph(std::vector<Deriver> derivers);

  /// Adds to `facts` what follows from them and from the run. Facts that are held stay. Safe from
  /// several threads.
  void derive(const record::Run& run, FactTable& facts, FactTrace* trace = nullptr) const;

  /// In the order in which they run.
  const std::vector<Deriver>& derivers() const { return derivers_; }
  /// Facts that two derivers give, and derivers that wait for each other (they run in the order of
  /// the list). Empty for every graph of this program: the tests hold it so.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::vector<Deriver> derivers_;
  std::vector<std::string> faults_;
};

/// The lists one behind the other.
std::vector<Deriver> joined(std::vector<std::vector<Deriver>> lists);

}  // namespace aplomb::facts

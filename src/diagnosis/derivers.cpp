#include "diagnosis/derivers.h"

#include "facts/common_facts.h"

namespace aplomb::diagnosis {

std::vector<facts::Deriver> fact_derivers() {
  return facts::joined({facts::common_facts(), task_facts(), run_facts(), lr_facts(), loss_facts(),
                        reward_facts(), trend_facts(), stage_facts(), baseline_facts(),
                        memory_facts(), saving_facts(), flight_facts(), hang_facts(), slow_facts(),
                        said_facts(), incident_facts(), word_facts()});
}

const facts::FactGraph& fact_graph() {
  static const facts::FactGraph graph(fact_derivers());
  return graph;
}

}  // namespace aplomb::diagnosis

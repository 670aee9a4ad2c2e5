/// What the run trains and the constants of that task (task/task.h), as facts.

#include <utility>

#include "diagnosis/derivers.h"
#include "task/task.h"

namespace aplomb::diagnosis {
namespace {

void derive_task(facts::FactView& view) {
  for (record::Fact& fact : task::facts_of(task::recognise(view.run()))) {
    view.set_at(std::move(fact.name), std::move(fact.value), std::move(fact.because),
                std::move(fact.evidence));
  }
}

}  // namespace

std::vector<facts::Deriver> task_facts() {
  return {{.name = "task",
           .reads = {"run:*"},
           .gives = {"task.kind", "task.classes", "task.vocabulary", "task.batch",
                     "task.accumulation", "task.world", "task.samples", "task.steps_per_pass",
                     "task.guess", "task.from_scratch"},
           .derive = derive_task}};
}

}  // namespace aplomb::diagnosis

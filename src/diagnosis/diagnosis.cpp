#include "diagnosis/diagnosis.h"

#include <algorithm>
#include <utility>

#include "diagnosis/calibrate_probability.h"
#include "diagnosis/cause_book.h"
#include "diagnosis/experiments.h"
#include "diagnosis/gates.h"
#include "diagnosis/health.h"
#include "diagnosis/said_facts.h"
#include "diagnosis/standing.h"
#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {
namespace {

SeverityOf severities_of(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                         const FactTable& facts) {
  SeverityOf worst;
  const auto note = [&](const std::string& name, core::Severity severity) {
    core::Severity& held = worst.try_emplace(name, severity).first->second;
    held = std::max(held, severity);
  };
  for (const detectors::Symptom& symptom : symptoms) note(symptom.id, symptom.severity);
  for (const record::Event& event : run.events)
    note("error." + event.kind, severity_of(run, event));
  add_said_severities(facts, worst);
  for (const record::Fact& fact : facts.all()) {
    if (is_mistake(fact.name) && core::is_true(fact.value))
      note(fact.name, core::Severity::warning);
  }
  for (const Trouble& trouble : k_troubles) {
    if (!trouble.derived) continue;
    const record::Fact* fact = facts.find(trouble.fact);
    if (fact != nullptr && core::is_true(fact->value)) note(fact->name, core::Severity::warning);
  }
  return worst;
}

}  // namespace

namespace {

/// What is in order by nature leaves its causes possible and no longer likely: as much at the most
/// as that nothing is wrong.
void clear_suspicion(Ranking& ranking) {
  constexpr double k_possible = 0.4;  // judgement: below the half from which a cause is likely
  if (ranking.causes.empty() || ranking.causes.front().probability <= k_possible) return;
  const double share = k_possible / ranking.causes.front().probability;
  for (RankedCause& cause : ranking.causes) cause.probability *= share;
  double told = 0;
  for (const RankedCause& cause : ranking.causes) told += cause.probability;
  ranking.unknown_probability = std::max(ranking.unknown_probability, 1 - std::min(told, 1.0));
}

}  // namespace

Diagnosis diagnose_run(const record::Run& run, std::vector<detectors::Symptom>& symptoms) {
  const CauseBook& book = cause_book();
  Diagnosis diagnosis;
  diagnosis.facts = gather_facts(run, symptoms);
  lower_explained(diagnosis.facts, symptoms);
  close_gates(run, diagnosis.facts, symptoms);
  Ranking ranking =
      weigh_causes(book, diagnosis.facts, severities_of(run, symptoms, diagnosis.facts));
  diagnosis.health = judge_health(diagnosis.facts);
  diagnosis.standing = judge_standing(run, symptoms, ranking, diagnosis.health);
  if (diagnosis.standing != Standing::healthy) calibrate_probability(ranking, book.calibration);
  diagnosis.headline = write_headline(run, symptoms, ranking, diagnosis.health, diagnosis.standing);
  const bool suspected =
      diagnosis.standing == Standing::warning && worst_of(run, symptoms) == core::Severity::note;
  if (suspected || diagnosis.standing == Standing::insufficient) {
    // What people tell can clear a suspicion; it cannot show that the run is in order.
    if (std::optional<std::string> why = why_normal(diagnosis.facts, suspected)) {
      diagnosis.standing = Standing::insufficient;
      diagnosis.headline = diagnosis.in_order = *std::move(why);
      clear_suspicion(ranking);
    }
  }
  // What is in order asks for no test of a cause, only for what would show it.
  diagnosis.experiments = choose_experiments(
      book, diagnosis.facts, diagnosis.in_order.empty() ? ranking : Ranking(), diagnosis.standing);
  diagnosis.unknown_probability = ranking.unknown_probability;
  diagnosis.causes = std::move(ranking.causes);
  diagnosis.ruled_out = std::move(ranking.ruled_out);
  return diagnosis;
}

}  // namespace aplomb::diagnosis

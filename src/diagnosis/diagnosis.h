#pragma once
/// The diagnosis: symptoms + facts + knowledge -> ranked causes with remedies, and the cheapest
/// experiment that would separate the first ones. Knowledge is data (knowledge/causes); this folder
/// holds no cause by name.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detectors/symptom.h"
#include "facts/fact_table.h"
#include "record/run.h"

namespace aplomb::diagnosis {

using facts::FactTable;

/// What is read of a run: settings under their names, events as `error.<kind>` (and
/// `error.<kind>.<caught>`), symptoms as `<id>` = true (and `<id>.<measure>`), series as
/// `<name>.first|last|min|max`, and what readers gave.
FactTable read_facts(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

/// Everything the knowledge base may see of a run: what is read, and what follows from it
/// (diagnosis/derivers.h). knowledge/facts.yaml declares every name and type.
FactTable gather_facts(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

/// What a reason is. Decisions are made on this and on the name of the fact, never on the text that
/// people read.
enum class ReasonKind : std::uint8_t {
  rule,      ///< a condition of the cause's own holds
  explains,  ///< a symptom or an event is there that the cause accounts for: `fact`
  absent,    ///< all that it accounts for was looked for and is not there
  unseen,    ///< nothing that it accounts for was seen
  leaves,    ///< something is there that others account for and this one does not: `fact`
  words,     ///< the words of what people wrote
};

struct WeighedReason {
  ReasonKind kind = ReasonKind::rule;
  std::string fact;   ///< of `explains` and `leaves`
  std::string when;   ///< for people: the condition as written, `explains loss.plateau`
  double weight = 0;  ///< nats
  std::vector<record::Origin> evidence;
  std::string because;  ///< the facts that made it hold, for people
  bool said = false;    ///< it stands on what people wrote (diagnosis/said_facts.h)
};

struct Remedy {
  std::string text;
  std::vector<std::pair<std::string, core::Value>> set;
};

struct Experiment {
  std::string text;
  std::string reads;
  std::vector<std::string> separates;
};

struct RankedCause {
  std::string id;
  std::string family;
  std::string title;
  double probability = 0;
  double log_odds = 0;
  std::string because;  ///< the knowledge base's paragraph with this run's numbers in it
  std::vector<WeighedReason> reasons;
  std::vector<Remedy> remedies;
  std::string verify;
  std::vector<std::string> references;
};

/// A rival that would have been a candidate, and what rules it out.
struct RuledOut {
  std::string id;
  std::string title;
  std::string because;
  std::vector<record::Origin> evidence;
};

/// One thing that speaks for or against a run in order.
struct HealthFinding {
  std::string because;
  std::vector<record::Origin> evidence;
};

/// Whether the run may be called healthy: that takes evidence of its own (knowledge/health.yaml).
struct HealthEvidence {
  std::vector<HealthFinding> shown;    ///< what shows that it learns
  std::vector<HealthFinding> against;  ///< what keeps it from being called healthy
  std::vector<HealthFinding> missing;  ///< what would have to be there to tell

  bool is_shown() const { return !shown.empty() && against.empty(); }
};

enum class Standing { healthy, warning, unstable, failed, insufficient };

struct Diagnosis {
  Standing standing = Standing::insufficient;
  std::vector<RankedCause> causes;  ///< most probable first
  std::vector<RuledOut> ruled_out;  ///< likeliest first, had nothing spoken against them
  double unknown_probability = 0;
  HealthEvidence health;
  std::vector<Experiment> experiments;
  FactTable facts;
  std::string headline;  ///< one sentence: what went wrong
  /// Why what looks odd is in order by nature (knowledge/claims/normal.yaml); else empty.
  std::string in_order;
};

/// Symptoms that the rest of the run accounts for are lowered to notes on the way
/// (diagnosis/health.h).
Diagnosis diagnose_run(const record::Run& run, std::vector<detectors::Symptom>& symptoms);

}  // namespace aplomb::diagnosis

#pragma once
/// The diagnosis: symptoms + facts + knowledge -> ranked causes with remedies, and the cheapest
/// experiment that would separate the first ones. Knowledge is data (knowledge/causes); this folder
/// holds no cause by name.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "detectors/symptom.h"
#include "record/run.h"

namespace aplomb::diagnosis {

/// Facts by name. A name that is not held is unknown, which is neither true nor false (see
/// condition.h).
class FactTable {
 public:
  void set(record::Fact fact);  ///< the first of a name stays
  const record::Fact* find(std::string_view name) const;
  const std::vector<record::Fact>& all() const { return facts_; }

 private:
  std::vector<record::Fact> facts_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// Everything the knowledge base may see of a run: settings under their names, events as
/// `error.<kind>` (and `error.<kind>.<caught>`), symptoms as `<id>` = true (and `<id>.<measure>`),
/// series as `<name>.first|last|min|max`, and what follows from them (knowledge/facts.yaml declares
/// every name and type).
FactTable gather_facts(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

struct WeighedReason {
  std::string when;   ///< the condition as written
  double weight = 0;  ///< nats
  std::vector<record::Origin> evidence;
  std::string because;  ///< the facts that made it hold, for people
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

enum class Standing { healthy, warning, unstable, failed, insufficient };

struct Diagnosis {
  Standing standing = Standing::insufficient;
  std::vector<RankedCause> causes;  ///< most probable first
  double unknown_probability = 0;
  std::vector<Experiment> experiments;
  FactTable facts;
  std::string headline;  ///< one sentence: what went wrong
};

Diagnosis diagnose_run(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

}  // namespace aplomb::diagnosis

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/text.h"
#include "detection/bank.h"
#include "detectors/detector.h"
#include "diagnosis/derivers.h"
#include "diagnosis/diagnosis.h"
#include "facts/listener.h"
#include "knowledge/written_key.h"

namespace aplomb::diagnosis {
namespace {

using facts::Listener;

constexpr std::size_t k_most_evidence = 8;

/// A detector's silence says that a thing is absent only after it has seen this many samples;
/// non-finite and zero values need no history, one sample is enough to see them.
constexpr std::uint64_t k_enough_samples = 5;

void add_settings(const record::Run& run, FactTable& facts) {
  for (auto setting = run.settings.rbegin(); setting != run.settings.rend(); ++setting) {
    facts.set(
        {setting->name, setting->value, knowledge::show_as_written(*setting), {setting->origin}});
  }
}

void add_events(const record::Run& run, const Listener& listener, FactTable& facts) {
  struct Seen {
    const record::Event* first = nullptr;
    std::vector<record::Origin> origins;
    double count = 0;
  };
  std::map<std::string, Seen> kinds;
  for (const record::Event& event : run.events) {
    if (!listener.hears(event)) continue;
    Seen& seen = kinds[event.kind];
    if (seen.first == nullptr) seen.first = &event;
    if (seen.origins.size() < k_most_evidence) seen.origins.push_back(event.origin);
    // Equal messages are kept as their first, which says how many there were, and their last.
    const auto times = event.caught.find("times");
    const double* repeated = times == event.caught.end() ? nullptr : core::as_number(times->second);
    seen.count += repeated != nullptr ? *repeated - 1 : 1;
  }
  for (const auto& [kind, seen] : kinds) {
    const std::string name = "error." + kind;
    facts.set({name, true, core::shorten(seen.first->text, 160), seen.origins});
    facts.set(
        {name + ".count", seen.count, core::show_number(seen.count) + " x " + kind, seen.origins});
  }
  // What was caught: the first event that caught it speaks (a later line may hold what the first
  // does not).
  for (const record::Event& event : run.events) {
    if (!listener.hears(event)) continue;
    for (const auto& [key, value] : event.caught) {
      const std::string name = "error." + event.kind + "." + key;
      facts.set({name, value, core::shorten(event.text, 160), {event.origin}});
    }
  }
}

void add_symptoms(const std::vector<detectors::Symptom>& symptoms, FactTable& facts) {
  for (const detectors::Symptom& symptom : symptoms) {
    facts.set({symptom.id, true, symptom.summary, symptom.evidence});
    facts.set({symptom.id + ".series", symptom.series, symptom.summary, symptom.evidence});
    for (const auto& [key, value] : symptom.measures) {
      facts.set({symptom.id + "." + key, value, symptom.summary, symptom.evidence});
    }
  }
}

/// The role that a symptom's name speaks of: `grad_norm.high` -> grad_norm. Nothing where it names
/// none.
std::optional<record::Role> subject(const std::string& symptom) {
  const std::string head = symptom.substr(0, symptom.find('.'));
  if (head == "component") return record::Role::loss_component;
  if (head == "clip") return record::Role::grad_norm;
  if (head == "eval") return record::Role::eval_loss;
  return record::role_of(head);
}

bool was_watched(const record::Run& run, const detectors::DetectorSpec& spec,
                 const std::string& symptom) {
  if (spec.inputs.empty()) return false;  // it wants parts that only some tasks have
  const bool at_once = symptom.find("nonfinite") != std::string::npos || symptom.ends_with(".zero");
  const std::uint64_t enough = at_once ? 1 : k_enough_samples;
  const auto present = [&](record::Role role) {
    const record::Series* series = run.primary(role);
    return series != nullptr && series->count >= enough;
  };
  const std::optional<record::Role> role = subject(symptom);
  const bool named =
      role && std::find(spec.inputs.begin(), spec.inputs.end(), *role) != spec.inputs.end();
  return named ? present(*role) : std::all_of(spec.inputs.begin(), spec.inputs.end(), present);
}

/// Symptoms that were looked for and not found.
void add_silences(const record::Run& run, FactTable& facts) {
  for (const auto& detector : detection::make_detectors()) {
    const detectors::DetectorSpec& spec = detector->spec();
    for (const std::string& symptom : spec.symptoms) {
      if (was_watched(run, spec, symptom)) facts.set({symptom, false, "no " + symptom, {}});
    }
  }
}

void add_series(const record::Run& run, FactTable& facts) {
  std::set<std::string> done;
  for (const record::Series& any : run.series) {
    if (!done.insert(any.name).second) continue;
    const record::Series* series = run.find(any.name);
    if (series == nullptr || series->empty()) continue;
    const auto finite = [](double sample) { return std::isfinite(sample); };
    const auto add = [&](const char* part, double value, std::vector<record::Origin> origins) {
      facts.set({series->name + "." + part, value,
                 series->name + " " + part + " " + core::show_number(value), std::move(origins)});
    };
    add("points", static_cast<double>(series->count), {});
    const auto first = std::find_if(series->value.begin(), series->value.end(), finite);
    if (first == series->value.end()) continue;
    const auto last = std::find_if(series->value.rbegin(), series->value.rend(), finite);
    const auto first_at = static_cast<std::size_t>(first - series->value.begin());
    const auto last_at =
        series->size() - 1 - static_cast<std::size_t>(last - series->value.rbegin());
    add("first", *first, {run.shown_by(*series).origin(first_at)});
    add("last", *last, {run.shown_by(*series).origin(last_at)});
    add("min", series->min, {});
    add("max", series->max, {});
  }
}

}  // namespace

FactTable read_facts(const record::Run& run, const std::vector<detectors::Symptom>& symptoms) {
  FactTable facts;
  const Listener listener(run);
  for (const record::Fact& fact : run.facts) {
    if (listener.hears(fact)) facts.set(fact);
  }
  add_settings(run, facts);
  add_events(run, listener, facts);
  add_symptoms(symptoms, facts);
  add_silences(run, facts);
  add_series(run, facts);
  return facts;
}

FactTable gather_facts(const record::Run& run, const std::vector<detectors::Symptom>& symptoms) {
  FactTable facts = read_facts(run, symptoms);
  fact_graph().derive(run, facts);
  return facts;
}

}  // namespace aplomb::diagnosis

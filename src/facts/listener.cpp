#include "facts/listener.h"

#include <algorithm>

#include "knowledge/text_classifier.h"

namespace aplomb::facts {

Listener::Listener(const record::Run& run) {
  for (const record::Fact& fact : run.facts) {
    if (fact.name != knowledge::TextClassifier::k_account) continue;
    for (const record::Origin& origin : fact.evidence) accounts_.push_back(origin.source);
  }
  constexpr std::uint64_t k_series = 3;  // fewer samples than this make no curve
  beside_metrics_ =
      std::any_of(run.series.begin(), run.series.end(), [&](const record::Series& series) {
        // One record that a program printed is a measurement; one that somebody quotes is a word.
        return series.count >= k_series || (series.count > 0 && !is_account(series.source));
      });
}

bool Listener::is_account(record::SourceId source) const {
  return std::find(accounts_.begin(), accounts_.end(), source) != accounts_.end();
}

bool Listener::hears(record::SourceId source) const {
  return !beside_metrics_ || is_account(source);
}

bool Listener::hears(const record::Fact& fact) const {
  if (!fact.name.starts_with("said.") || fact.evidence.empty()) return true;
  return std::any_of(fact.evidence.begin(), fact.evidence.end(),
                     [&](const record::Origin& origin) { return hears(origin.source); });
}

bool Listener::hears(const record::Event& event) const {
  return !event.kind.ends_with("-said") || hears(event.origin.source);
}

}  // namespace aplomb::facts

#include "diagnosis/word_facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/text.h"
#include "diagnosis/derivers.h"
#include "knowledge/text_classifier.h"

namespace aplomb::diagnosis {
namespace {

using knowledge::TextClassifier;

using Places = std::unordered_map<std::string, std::vector<record::Origin>>;

constexpr std::size_t k_longest_word = 24;  // of a value: longer ones are names or sentences
constexpr std::size_t k_most_lines = 3;     // told for a cause

/// One line of the artifact: its features are those of one line of the fact's value.
void put_line(std::string_view line, const record::Origin& origin, Places& places) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(TextClassifier::k_between, at), line.size());
    places.try_emplace(std::string(line.substr(at, end - at)), 1, origin);
    at = end + 1;
  }
}

void put_words(const record::Fact& fact, const facts::Listener& listener, Places& places) {
  const std::string* text = core::as_text(fact.value);
  if (text == nullptr) return;
  std::size_t at = 0;
  for (const record::Origin& origin : fact.evidence) {
    if (!listener.hears(origin.source)) return;
    const std::size_t end = std::min(text->find('\n', at), text->size());
    put_line(std::string_view(*text).substr(at, end - at), origin, places);
    at = std::min(end + 1, text->size());
  }
}

void put_fact(const record::Fact& fact, Places& places) {
  std::string feature = TextClassifier::k_fact_mark + fact.name;
  const std::string* word = core::as_text(fact.value);
  if (word != nullptr) {
    if (fact.name == TextClassifier::k_fact || word->empty() || word->size() > k_longest_word)
      return;
    feature.append("=").append(core::lower(*word));
  } else if (const bool* holds = std::get_if<bool>(&fact.value); holds == nullptr || !*holds) {
    return;
  }
  places.try_emplace(std::move(feature), fact.evidence);
}

/// Each artifact gave a fact of its own, of which the table holds the first only.
Places places_of(const facts::FactView& view) {
  Places places;
  const facts::Listener listener = view.listener();
  for (const record::Fact* fact : view.given_by_readers(TextClassifier::k_fact))
    put_words(*fact, listener, places);
  for (const record::Fact& fact : view.table().all()) {
    if (!listener.beside_metrics() || fact.name.starts_with("said.")) put_fact(fact, places);
  }
  return places;
}

std::vector<std::string> features_of(const Places& places) {
  std::vector<std::string> features;
  features.reserve(places.size());
  for (const auto& [feature, origins] : places) features.push_back(feature);
  std::sort(features.begin(), features.end());
  return features;
}

/// Where the verdict stands. Stems and pairs of them mean nothing to people; the lines that they stand
/// in do.
std::vector<record::Origin> lines_of(const TextClassifier::Verdict& verdict, const Places& places) {
  std::vector<record::Origin> lines;
  for (const std::string_view word : verdict.words) {
    const auto found = places.find(std::string(word));
    if (found == places.end()) continue;
    for (const record::Origin& origin : found->second) {
      const bool known = std::any_of(lines.begin(), lines.end(), [&](const record::Origin& held) {
        return held.source == origin.source && held.offset == origin.offset;
      });
      if (!known && lines.size() < k_most_lines) lines.push_back(origin);
    }
  }
  return lines;
}

void derive_words(facts::FactView& view) {
  const Places places = places_of(view);
  const auto verdicts = TextClassifier::instance().weigh(features_of(places));
  if (!verdicts.empty() && view.listener().beside_metrics())
    view.set("words.beside_metrics", true, "a program printed metrics");
  for (const auto& verdict : verdicts) {
    view.set_at("words." + std::string(verdict.cause), verdict.nats,
                verdict.nats > 0 ? "the report reads like others of this cause"
                                 : "the report reads unlike others of this cause",
                lines_of(verdict, places));
  }
}

}  // namespace

std::vector<std::string> report_features(const record::Run& run, const FactTable& facts) {
  FactTable held = facts;
  return features_of(places_of(facts::FactView(run, held)));
}

std::vector<facts::Deriver> word_facts() {
  return {{.name = "words",
           .reads = {"*", "reader:text.words", "reader:text.account", "series:*"},
           .gives = {"words.*"},
           .derive = derive_words}};
}

}  // namespace aplomb::diagnosis

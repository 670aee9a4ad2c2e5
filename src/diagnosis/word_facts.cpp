#include "diagnosis/word_facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/text.h"
#include "diagnosis/listener.h"
#include "knowledge/word_book.h"

namespace aplomb::diagnosis {
namespace {

using knowledge::WordBook;

using Places = std::unordered_map<std::string, std::vector<record::Origin>>;

constexpr std::size_t k_longest_word = 24;  // of a value: longer ones are names or sentences
constexpr std::size_t k_most_lines = 3;     // told for a cause

/// One line of the artifact: its features are those of one line of the fact's value.
void put_line(std::string_view line, const record::Origin& origin, Places& places) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(WordBook::k_between, at), line.size());
    places.try_emplace(std::string(line.substr(at, end - at)), 1, origin);
    at = end + 1;
  }
}

void put_words(const record::Fact& fact, const Listener& listener, Places& places) {
  const std::string* text = core::as_text(fact.value);
  if (fact.name != WordBook::k_fact || text == nullptr) return;
  std::size_t at = 0;
  for (const record::Origin& origin : fact.evidence) {
    if (!listener.hears(origin.source)) return;
    const std::size_t end = std::min(text->find('\n', at), text->size());
    put_line(std::string_view(*text).substr(at, end - at), origin, places);
    at = std::min(end + 1, text->size());
  }
}

void put_fact(const record::Fact& fact, Places& places) {
  std::string feature = WordBook::k_fact_mark + fact.name;
  const std::string* word = core::as_text(fact.value);
  if (word != nullptr) {
    if (fact.name == WordBook::k_fact || word->empty() || word->size() > k_longest_word) return;
    feature.append("=").append(core::lower(*word));
  } else if (const bool* holds = std::get_if<bool>(&fact.value); holds == nullptr || !*holds) {
    return;
  }
  places.try_emplace(std::move(feature), fact.evidence);
}

Places places_of(const record::Run& run, const FactTable& facts) {
  Places places;
  const Listener listener(run);
  for (const record::Fact& fact : run.facts) put_words(fact, listener, places);
  for (const record::Fact& fact : facts.all()) {
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

/// The verdict as a fact. Stems and pairs of them mean nothing to people; the lines that they stand
/// in do.
record::Fact fact_of(const WordBook::Verdict& verdict, const Places& places) {
  record::Fact fact{"words." + std::string(verdict.cause), verdict.nats, {}, {}};
  fact.because = verdict.nats > 0 ? "the report reads like others of this cause"
                                  : "the report reads unlike others of this cause";
  for (const std::string_view word : verdict.words) {
    const auto found = places.find(std::string(word));
    if (found == places.end()) continue;
    for (const record::Origin& origin : found->second) {
      const bool known =
          std::any_of(fact.evidence.begin(), fact.evidence.end(), [&](const record::Origin& held) {
            return held.source == origin.source && held.offset == origin.offset;
          });
      if (!known && fact.evidence.size() < k_most_lines) fact.evidence.push_back(origin);
    }
  }
  return fact;
}

}  // namespace

std::vector<std::string> report_features(const record::Run& run, const FactTable& facts) {
  return features_of(places_of(run, facts));
}

void add_word_facts(const record::Run& run, FactTable& facts) {
  const Places places = places_of(run, facts);
  for (const auto& verdict : WordBook::instance().weigh(features_of(places)))
    facts.set(fact_of(verdict, places));
}

}  // namespace aplomb::diagnosis

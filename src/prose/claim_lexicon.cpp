#include "prose/claim_lexicon.h"

#include <fmt/format.h>

#include <algorithm>

#include "knowledge/document.h"
#include "prose/claim_phrases.h"

namespace aplomb::prose {
namespace {

using knowledge::Node;

}  // namespace

Lexicon::Lexicon() {
  load(ConceptKind::subject, "subjects", knowledge::file("claims/subjects.yaml"));
  load(ConceptKind::split, "splits", knowledge::file("claims/splits.yaml"));
  load(ConceptKind::predicate, "predicates", knowledge::file("claims/predicates.yaml"));
  load(ConceptKind::condition, "conditions", knowledge::file("claims/conditions.yaml"));
  const Node words = knowledge::file("claims/function_words.yaml");
  load(ConceptKind::negation, "negations", words["negations"]);
  load(ConceptKind::hope, "hopes", words["hopes"]);
  load(ConceptKind::clause, "clauses", words["clauses"]);
  load(ConceptKind::idiom, "idioms", words["idioms"]);
  load_units();
  check();
}

const Lexicon& Lexicon::instance() {
  static const Lexicon the_lexicon;
  return the_lexicon;
}

void Lexicon::load(ConceptKind kind, std::string_view key, const Node& list) {
  if (!list.is_list()) mistakes_.push_back(fmt::format("knowledge/claims: no list '{}'", key));
  for (const Node& entry : list.items()) {
    Concept concept_read;
    concept_read.kind = kind;
    concept_read.id = knowledge::text_of(entry, "id");
    concept_read.nature = knowledge::text_of(entry, "nature");
    concept_read.train = knowledge::text_of(entry, "train");
    concept_read.eval = knowledge::text_of(entry, "eval");
    concept_read.field = knowledge::text_of(entry, "field");
    concept_read.is = knowledge::text_of(entry, "is");
    concept_read.split = knowledge::text_of(entry, "split");
    concept_read.state = knowledge::truth_of(entry, "state");
    concept_read.share = knowledge::truth_of(entry, "share");
    concept_read.opposite = knowledge::text_of(entry, "not");
    concept_read.alone = knowledge::text_of(entry, "alone");
    concept_read.judges = knowledge::text_of(entry, "judges");
    for (const auto& [from, to] : entry["becomes"].members())
      concept_read.becomes.emplace(from, to.text().value_or(""));
    if (concept_read.id.empty() || find(kind, concept_read.id) != nullptr)
      mistakes_.push_back(
          fmt::format("{}: an id is missing or stands twice: '{}'", key, concept_read.id));
    const auto owner = static_cast<std::uint32_t>(concepts_.size());
    concepts_.push_back(std::move(concept_read));
    for (const std::string& phrase : knowledge::texts_of(entry, "words"))
      add_phrase(phrases_, phrase, owner);
  }
}

void Lexicon::load_units() {
  for (const Node& entry : knowledge::file("claims/units.yaml").items()) {
    const auto owner = static_cast<std::uint32_t>(units_.size());
    units_.push_back({knowledge::text_of(entry, "id"), knowledge::number_of(entry, "scale", 1),
                      knowledge::text_of(entry, "subject")});
    for (const std::string& phrase : knowledge::texts_of(entry, "words"))
      add_phrase(unit_phrases_, phrase, owner);
  }
}

void Lexicon::add_phrase(Index& index, const std::string& phrase, std::uint32_t owner) {
  Phrase made{words_of(phrase), owner};
  if (made.words.empty()) {
    mistakes_.push_back(fmt::format("the phrase '{}' holds no word", phrase));
    return;
  }
  if (is_short_stem(made.words)) {
    mistakes_.push_back(fmt::format("the stem of '{}' is too short", phrase));
    return;
  }
  auto& bucket = index[key_of(made.words)];
  const bool twice = std::any_of(bucket.begin(), bucket.end(),
                                 [&](const Phrase& known) { return known.words == made.words; });
  if (twice) mistakes_.push_back(fmt::format("the phrase '{}' stands twice", phrase));
  bucket.push_back(std::move(made));
}

/// Every concept that another names is there.
void Lexicon::check() {
  const auto needs = [&](ConceptKind kind, const std::string& id, const std::string& by) {
    if (!id.empty() && find(kind, id) == nullptr)
      mistakes_.push_back(fmt::format("{} names '{}', which is nothing", by, id));
  };
  for (const Unit& unit : units_) needs(ConceptKind::subject, unit.subject, unit.id);
  for (const Concept& each : concepts_) {
    needs(ConceptKind::subject, each.train, each.id);
    needs(ConceptKind::subject, each.eval, each.id);
    needs(ConceptKind::subject, each.field, each.id);
    needs(ConceptKind::subject, each.alone, each.id);
    needs(ConceptKind::subject, each.is, each.id);
    needs(ConceptKind::split, each.split, each.id);
    needs(ConceptKind::predicate, each.opposite, each.id);
    for (const auto& [nature, predicate] : each.becomes)
      needs(ConceptKind::predicate, predicate, each.id);
  }
}

const Lexicon::Phrase* Lexicon::longest(const Index& index, const std::vector<Token>& tokens,
                                        std::size_t at) {
  const Phrase* best = nullptr;
  const auto look = [&](const std::string& key) {
    const auto bucket = index.find(key);
    if (bucket == index.end()) return;
    for (const Phrase& phrase : bucket->second) {
      if (best != nullptr && phrase.words.size() <= best->words.size()) continue;
      if (meets(phrase.words, tokens, at)) best = &phrase;
    }
  };
  look(key_of(tokens[at]));
  if (tokens[at].kind == TokenKind::number) look("#");
  return best;
}

Lexicon::Match Lexicon::match(const std::vector<Token>& tokens, std::size_t at) const {
  const Phrase* phrase = longest(phrases_, tokens, at);
  if (phrase == nullptr) return {};
  return {&concepts_[phrase->owner], phrase->words.size()};
}

Lexicon::UnitMatch Lexicon::match_unit(const std::vector<Token>& tokens, std::size_t at) const {
  if (at >= tokens.size()) return {};
  const Phrase* phrase = longest(unit_phrases_, tokens, at);
  if (phrase == nullptr) return {};
  return {&units_[phrase->owner], phrase->words.size()};
}

std::string Lexicon::subject_of_unit(std::string_view unit) const {
  for (const Unit& each : units_) {
    if (each.id == unit) return each.subject;
  }
  return {};
}

const Concept* Lexicon::find(ConceptKind kind, std::string_view id) const {
  const auto found = std::find_if(concepts_.begin(), concepts_.end(), [&](const Concept& each) {
    return each.kind == kind && each.id == id;
  });
  return found == concepts_.end() ? nullptr : &*found;
}

}  // namespace aplomb::prose

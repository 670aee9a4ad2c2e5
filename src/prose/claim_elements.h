#pragma once
/// Elements of a sentence: the tokens that the lexicon knows, with numbers and clause borders, in
/// order. What the lexicon does not know is only counted: it makes distances.

#include <optional>
#include <string>
#include <vector>

#include "prose/claim_lexicon.h"

namespace aplomb::prose {

enum class ElementKind : std::uint8_t { known, number, from, to, on, copula, joint };

struct Element {
  ElementKind kind = ElementKind::known;
  const Concept* what = nullptr;   ///< known
  double value = 0;                ///< number, in the unit's base
  std::string unit;                ///< number; empty: none was written
  std::size_t begin = 0, end = 0;  ///< tokens
  std::size_t clause = 0;

  bool is(ConceptKind concept_kind) const {
    return kind == ElementKind::known && what->kind == concept_kind;
  }
};

struct Sentence {
  std::vector<Element> elements;
  std::size_t clauses = 1;
  bool question = false;
};

/// Cuts tokens into sentences of elements.
std::vector<Sentence> sentences_of(const Lexicon& lexicon, const std::vector<Token>& tokens);

}  // namespace aplomb::prose

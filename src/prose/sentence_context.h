#pragma once
/// A sentence while its claims are read: which subject an element has, which split, what stands
/// between two elements. All distances are in tokens.

#include <cstddef>
#include <string>
#include <vector>

#include "prose/claim_elements.h"

namespace aplomb::prose {

/// Tokens between the end of one element and the begin of a later one.
std::size_t gap(const Element& left, const Element& right);

class SentenceContext {
 public:
  static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);

  /// `first_of_line`: no sentence of the line stood before. `spoken_of`: the subject that was named
  /// last, before this sentence.
  SentenceContext(const Lexicon& lexicon, const Sentence& sentence, bool first_of_line,
                  std::string spoken_of);

  const std::vector<Element>& elements() const { return elements_; }
  const std::string& subject(std::size_t element) const { return subject_[element]; }
  bool is_used(std::size_t element) const { return used_[element]; }
  /// The number or split belongs to something.
  void use(std::size_t element) { used_[element] = true; }
  void speak_of(std::string subject) { spoken_of_ = std::move(subject); }
  const std::string& spoken_of() const { return spoken_of_; }

  const Concept* subject_named(const std::string& id) const;
  static std::string on_split(const Concept& subject, const std::string& split);
  std::size_t subject_before(std::size_t predicate) const;
  std::size_t pick_subject(std::size_t predicate) const;
  bool stands_before(ConceptKind kind, std::size_t predicate, std::size_t subject) const;
  /// `Why doesn't the reward rise?`: the negation stands before the subject.
  bool is_denied(std::size_t subject, std::size_t predicate) const;
  /// A split alone stands for what was spoken of: `train goes down, val goes up`.
  std::string implied_subject(std::size_t predicate) const;
  /// The subject that a split is a part of: `accuracy` for `eval_accuracy`.
  const Concept* base_of(const std::string& subject) const;
  const Concept* shaped(const Concept* predicate, const std::string& subject) const;
  /// `poor on the test set`
  std::size_t split_of_predicate(std::size_t predicate) const;
  std::string judgement(const Concept& predicate, const std::string& subject) const;
  /// `loss and grad_norm are NaN`: the subjects that are joined to the one that was found.
  std::vector<std::string> coordinated(std::size_t at, std::size_t predicate) const;
  /// The split stands right before another subject: `loss and validation accuracy`.
  bool names_a_subject(std::size_t split) const;

 private:
  /// Gives each subject its split: `validation loss`, `accuracy on the test set`.
  void settle_subjects();
  std::size_t split_of(std::size_t subject) const;
  /// `the entropy of the policy`, `the reward for accuracy`: what is measured, not of what. `A loss
  /// of accuracy` is none.
  std::size_t head_of(std::size_t subject) const;
  bool between(std::size_t left, std::size_t right, ConceptKind kind) const;
  bool copula_between(std::size_t left, std::size_t right) const;
  std::size_t subject_behind(std::size_t predicate) const;
  /// Tokens between two elements that no split takes.
  std::size_t words_between(std::size_t left, std::size_t right) const;
  /// Words before an element that the lexicon does not know.
  std::size_t words_before(std::size_t at) const;
  /// Things of which one sentence says the same: metrics and tensors, or two of one nature.
  static bool alike(const Concept& a, const Concept& b);
  /// The clause of `left` says something itself, and is not that of `right`.
  bool clause_claims(std::size_t left, std::size_t right) const;

  const Lexicon& lexicon_;
  const std::vector<Element>& elements_;
  bool first_of_line_;
  std::string spoken_of_;
  std::vector<std::string> subject_;  ///< by element: the subject with its split
  std::vector<bool> used_;
};

}  // namespace aplomb::prose

#include "prose/sentence_context.h"

#include <algorithm>
#include <utility>

namespace aplomb::prose {
namespace {

// Distances in tokens, tried on the sentences of tests/prose/claims_test.cpp: further apart the
// words belong to other things.
constexpr std::size_t k_subject_reach = 14;  ///< subject before its predicate
constexpr std::size_t k_behind_reach = 3;    ///< `NaN in the loss`
constexpr std::size_t k_attribute_gap = 1;   ///< `low GPU usage`
constexpr std::size_t k_negation_reach = 4;
constexpr std::size_t k_split_before = 2;
constexpr std::size_t k_split_behind = 5;
constexpr std::size_t k_line_start = 4;

}  // namespace

std::size_t gap(const Element& left, const Element& right) {
  return right.begin >= left.end ? right.begin - left.end : 0;
}

SentenceContext::SentenceContext(const Lexicon& lexicon, const Sentence& sentence,
                                 bool first_of_line, std::string spoken_of)
    : lexicon_(lexicon),
      elements_(sentence.elements),
      first_of_line_(first_of_line),
      spoken_of_(std::move(spoken_of)),
      subject_(elements_.size()),
      used_(elements_.size(), false) {
  settle_subjects();
}

const Concept* SentenceContext::subject_named(const std::string& id) const {
  return lexicon_.find(ConceptKind::subject, id);
}

std::string SentenceContext::on_split(const Concept& subject, const std::string& split) {
  const std::string& there = split == "train"   ? subject.train
                             : split == "field" ? subject.field
                                                : subject.eval;
  return there.empty() ? subject.id : there;
}

void SentenceContext::settle_subjects() {
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i].is(ConceptKind::subject)) continue;
    const Concept& subject = *elements_[i].what;
    subject_[i] = subject.id;
    if (subject.train.empty() && subject.eval.empty()) continue;
    const std::size_t split = split_of(i);
    if (split == k_nowhere) continue;
    subject_[i] = on_split(subject, elements_[split].what->id);
    used_[split] = true;
  }
}

std::size_t SentenceContext::split_of(std::size_t subject) const {
  const Element& at = elements_[subject];
  for (std::size_t i = subject; i-- > 0;) {
    const Element& other = elements_[i];
    if (other.clause != at.clause || gap(other, at) > k_split_before) break;
    if (other.is(ConceptKind::split)) return i;
    if (other.is(ConceptKind::subject)) break;
  }
  for (std::size_t i = subject + 1; i < elements_.size(); ++i) {
    const Element& other = elements_[i];
    if (other.clause != at.clause || gap(at, other) > k_split_behind) break;
    const bool placed = elements_[i - 1].kind == ElementKind::on &&
                        gap(elements_[i - 1], other) <= 1;  // `on the validation set`
    if (other.is(ConceptKind::split) && placed && !names_a_subject(i)) return i;
    if (other.is(ConceptKind::subject)) break;
  }
  return k_nowhere;
}

bool SentenceContext::names_a_subject(std::size_t split) const {
  return split + 1 < elements_.size() && elements_[split + 1].is(ConceptKind::subject) &&
         gap(elements_[split], elements_[split + 1]) <= k_split_before &&
         elements_[split].clause == elements_[split + 1].clause;
}

bool SentenceContext::between(std::size_t left, std::size_t right, ConceptKind kind) const {
  for (std::size_t i = left + 1; i < right; ++i) {
    if (elements_[i].is(kind)) return true;
  }
  return false;
}

bool SentenceContext::copula_between(std::size_t left, std::size_t right) const {
  for (std::size_t i = left + 1; i < right; ++i) {
    if (elements_[i].kind == ElementKind::copula) return true;
  }
  return false;
}

std::size_t SentenceContext::subject_before(std::size_t predicate) const {
  for (std::size_t i = predicate; i-- > 0;) {
    if (elements_[i].clause != elements_[predicate].clause) break;
    if (gap(elements_[i], elements_[predicate]) > k_subject_reach) break;
    if (elements_[i].is(ConceptKind::subject)) return head_of(i);
  }
  return k_nowhere;
}

std::size_t SentenceContext::head_of(std::size_t subject) const {
  if (subject < 2 || elements_[subject - 1].kind != ElementKind::on) return subject;
  const Element& head = elements_[subject - 2];
  constexpr std::size_t k_article = 1;
  const bool adjacent = head.is(ConceptKind::subject) && gap(head, elements_[subject - 1]) == 0 &&
                        gap(elements_[subject - 1], elements_[subject]) <= k_article;
  if (!adjacent || head.clause != elements_[subject].clause) return subject;
  const std::string& nature = head.what->nature;
  const bool measured = nature == "lower" || nature == "higher" || nature == "level";
  const bool decline = head.what->id == "loss" && elements_[subject].what->nature == "higher";
  return measured && !decline ? subject - 2 : subject;
}

std::size_t SentenceContext::subject_behind(std::size_t predicate) const {
  std::size_t skipped = 0;  // a split between them makes no distance
  for (std::size_t i = predicate + 1; i < elements_.size(); ++i) {
    const Element& other = elements_[i];
    if (other.clause != elements_[predicate].clause) break;
    if (gap(elements_[predicate], other) > k_behind_reach + skipped) break;
    // `does not converge with the lr`: a setting does nothing itself
    const bool setting = other.is(ConceptKind::subject) && other.what->nature == "setting" &&
                         !elements_[predicate].what->alone.empty();
    if (other.is(ConceptKind::subject) && !setting) return i;
    if (other.is(ConceptKind::predicate) || other.kind == ElementKind::number || setting) break;
    skipped += other.end - other.begin;
  }
  return k_nowhere;
}

std::size_t SentenceContext::pick_subject(std::size_t predicate) const {
  const std::size_t before = subject_before(predicate);
  const std::size_t behind = subject_behind(predicate);
  if (before == k_nowhere || behind == k_nowhere) return before != k_nowhere ? before : behind;
  // `the loss is NaN and low GPU usage`, `accuracy (99 %) low test accuracy`
  const bool attribute = words_between(predicate, behind) <= k_attribute_gap &&
                         !copula_between(before, predicate) &&
                         (gap(elements_[before], elements_[predicate]) > k_attribute_gap ||
                          elements_[predicate - 1].kind == ElementKind::joint);
  const bool taken = between(before, predicate, ConceptKind::predicate) &&
                     words_between(predicate, behind) <= k_attribute_gap;
  return attribute || taken ? behind : before;
}

std::size_t SentenceContext::words_between(std::size_t left, std::size_t right) const {
  std::size_t words = gap(elements_[left], elements_[right]);
  for (std::size_t i = left + 1; i < right; ++i) {
    if (elements_[i].is(ConceptKind::split)) words -= elements_[i].end - elements_[i].begin;
  }
  return words;
}

bool SentenceContext::stands_before(ConceptKind kind, std::size_t predicate,
                                    std::size_t subject) const {
  const bool subject_first = subject != k_nowhere && subject < predicate;
  for (std::size_t i = predicate; i-- > 0;) {
    const Element& other = elements_[i];
    if (other.clause != elements_[predicate].clause) break;
    if (subject_first && i <= subject) break;
    if (!subject_first && gap(other, elements_[predicate]) > k_negation_reach) break;
    if (other.is(ConceptKind::predicate)) break;
    if (other.is(kind)) return true;
  }
  return false;
}

bool SentenceContext::is_denied(std::size_t subject, std::size_t predicate) const {
  constexpr std::size_t k_article = 1;
  return subject != k_nowhere && subject > 0 && subject < predicate &&
         elements_[subject - 1].is(ConceptKind::negation) &&
         gap(elements_[subject - 1], elements_[subject]) <= k_article;
}

std::string SentenceContext::implied_subject(std::size_t predicate) const {
  const Concept& what = *elements_[predicate].what;
  const Concept* last = base_of(spoken_of_);
  if (last != nullptr && what.alone.empty()) {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].clause == elements_[predicate].clause &&
          elements_[i].is(ConceptKind::split) && !used_[i])
        return on_split(*last, elements_[i].what->id);
    }
  }
  if (!what.alone.empty()) return what.alone;
  // What an earlier line spoke of goes on only where this line begins with what it does.
  const bool other_line = first_of_line_ && elements_[predicate].clause == 0;
  return other_line && words_before(predicate) > k_line_start ? std::string() : spoken_of_;
}

std::size_t SentenceContext::words_before(std::size_t at) const {
  std::size_t words = elements_[at].begin;
  for (std::size_t i = 0; i < at; ++i)
    words -= std::min(words, elements_[i].end - elements_[i].begin);
  return words;
}

const Concept* SentenceContext::base_of(const std::string& subject) const {
  for (const Concept& each : lexicon_.all()) {
    if (each.kind != ConceptKind::subject || each.eval.empty()) continue;
    if (each.id == subject || each.eval == subject || each.train == subject ||
        each.field == subject)
      return &each;
  }
  return nullptr;
}

const Concept* SentenceContext::shaped(const Concept* predicate, const std::string& subject) const {
  if (predicate->becomes.empty()) return predicate;
  auto found = predicate->becomes.find(subject);
  if (found == predicate->becomes.end()) {
    const Concept* who = subject_named(subject);
    if (who != nullptr) found = predicate->becomes.find(who->nature);
  }
  return found == predicate->becomes.end() ? predicate
                                           : lexicon_.find(ConceptKind::predicate, found->second);
}

std::size_t SentenceContext::split_of_predicate(std::size_t predicate) const {
  for (std::size_t i = predicate + 1; i < elements_.size(); ++i) {
    const Element& other = elements_[i];
    if (other.clause != elements_[predicate].clause || other.is(ConceptKind::subject) ||
        other.is(ConceptKind::predicate) || gap(elements_[predicate], other) > k_split_behind)
      break;
    const bool placed =
        elements_[i - 1].kind == ElementKind::on && gap(elements_[i - 1], other) <= 1;
    if (other.is(ConceptKind::split) && placed && !names_a_subject(i)) return i;
  }
  return k_nowhere;
}

std::string SentenceContext::judgement(const Concept& predicate, const std::string& subject) const {
  if (predicate.judges != "rising" && predicate.judges != "falling") return predicate.judges;
  const Concept* who = subject_named(subject);
  const std::string_view better = predicate.judges == "rising" ? "lower" : "higher";
  return who != nullptr && who->nature == better ? "bad" : "";
}

std::vector<std::string> SentenceContext::coordinated(std::size_t at, std::size_t predicate) const {
  std::vector<std::string> subjects = {subject_[at]};
  if (at > predicate) return subjects;
  std::size_t right = at;
  bool joined = false;
  for (std::size_t i = at; i-- > 0;) {
    const Element& other = elements_[i];
    if (gap(other, elements_[right]) > 2) break;
    if (other.kind == ElementKind::joint) {
      joined = true;
    } else if (other.is(ConceptKind::subject)) {
      if (!joined && other.clause == elements_[right].clause) break;
      if (clause_claims(i, at) || !alike(*other.what, *elements_[at].what)) break;
      subjects.push_back(subject_[i]);
      joined = false;
    } else if (!other.is(ConceptKind::split)) {
      break;
    } else if (const Concept* base = base_of(subject_[at]);
               joined && !used_[i] && base != nullptr) {
      subjects.push_back(on_split(*base, other.what->id));  // `training and validation loss`
      joined = false;
    }
    right = i;
  }
  return subjects;
}

bool SentenceContext::alike(const Concept& a, const Concept& b) {
  const auto measured = [](const Concept& each) {
    return each.nature == "lower" || each.nature == "higher" || each.nature == "level" ||
           each.nature == "state";
  };
  return a.nature == b.nature || (measured(a) && measured(b));
}

bool SentenceContext::clause_claims(std::size_t left, std::size_t right) const {
  if (elements_[left].clause == elements_[right].clause) return false;
  return std::any_of(elements_.begin(), elements_.end(), [&](const Element& each) {
    return each.clause == elements_[left].clause &&
           (each.is(ConceptKind::predicate) || each.kind == ElementKind::number);
  });
}

}  // namespace aplomb::prose

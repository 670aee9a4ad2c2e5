#include "sources/claim_grammar.h"

#include <algorithm>
#include <cmath>

#include "sources/claim_elements.h"

namespace aplomb::claims {
namespace {

// Distances in tokens, measured on the paraphrases of tests/sources/claim_paraphrases.h: further
// apart the words belong to other things.
constexpr std::size_t k_subject_reach = 14;  ///< subject before its predicate
constexpr std::size_t k_behind_reach = 3;    ///< `NaN in the loss`
constexpr std::size_t k_attribute_gap = 1;   ///< `low GPU usage`
constexpr std::size_t k_negation_reach = 4;
constexpr std::size_t k_value_reach = 5;
constexpr std::size_t k_split_before = 2;
constexpr std::size_t k_split_behind = 5;

constexpr std::size_t k_line_start = 4;

constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);

std::size_t gap(const Element& left, const Element& right) {
  return right.begin >= left.end ? right.begin - left.end : 0;
}

/// A claim and the clause that makes it.
struct Placed {
  Claim claim;
  std::size_t clause = 0;
};

class SentenceReader {
 public:
  SentenceReader(const Lexicon& lexicon, const Sentence& sentence, std::string& spoken_of,
                 bool first_of_line)
      : lexicon_(lexicon),
        sentence_(sentence),
        elements_(sentence.elements),
        spoken_of_(spoken_of),
        first_of_line_(first_of_line),
        subject_(elements_.size()),
        used_(elements_.size(), false) {}

  std::vector<Claim> run() {
    settle_subjects();
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].is(ConceptKind::subject)) spoken_of_ = subject_[i];
      if (elements_[i].is(ConceptKind::predicate)) claim(i);
    }
    ranges();
    values();
    conditions();
    std::vector<Claim> claims;
    for (Placed& placed : placed_) {
      placed.claim.clause = placed.clause;
      claims.push_back(std::move(placed.claim));
    }
    return claims;
  }

 private:
  const Concept* subject_named(const std::string& id) const {
    return lexicon_.find(ConceptKind::subject, id);
  }

  static std::string on_split(const Concept& subject, const std::string& split) {
    const std::string& there = split == "train" ? subject.train : subject.eval;
    return there.empty() ? subject.id : there;
  }

  /// Gives each subject its split: `validation loss`, `accuracy on the test set`.
  void settle_subjects() {
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

  std::size_t split_of(std::size_t subject) const {
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

  /// The split stands right before another subject: `loss and validation accuracy`.
  bool names_a_subject(std::size_t split) const {
    return split + 1 < elements_.size() && elements_[split + 1].is(ConceptKind::subject) &&
           gap(elements_[split], elements_[split + 1]) <= k_split_before &&
           elements_[split].clause == elements_[split + 1].clause;
  }

  bool between(std::size_t left, std::size_t right, ConceptKind kind) const {
    for (std::size_t i = left + 1; i < right; ++i) {
      if (elements_[i].is(kind)) return true;
    }
    return false;
  }

  bool copula_between(std::size_t left, std::size_t right) const {
    for (std::size_t i = left + 1; i < right; ++i) {
      if (elements_[i].kind == ElementKind::copula) return true;
    }
    return false;
  }

  std::size_t subject_before(std::size_t predicate) const {
    for (std::size_t i = predicate; i-- > 0;) {
      if (elements_[i].clause != elements_[predicate].clause) break;
      if (gap(elements_[i], elements_[predicate]) > k_subject_reach) break;
      if (elements_[i].is(ConceptKind::subject)) return i;
    }
    return k_nowhere;
  }

  std::size_t subject_behind(std::size_t predicate) const {
    std::size_t skipped = 0;  // a split between them makes no distance
    for (std::size_t i = predicate + 1; i < elements_.size(); ++i) {
      const Element& other = elements_[i];
      if (other.clause != elements_[predicate].clause) break;
      if (gap(elements_[predicate], other) > k_behind_reach + skipped) break;
      if (other.is(ConceptKind::subject)) return i;
      if (other.is(ConceptKind::predicate) || other.kind == ElementKind::number) break;
      skipped += other.end - other.begin;
    }
    return k_nowhere;
  }

  std::size_t pick_subject(std::size_t predicate) const {
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

  /// Tokens between two elements that no split takes.
  std::size_t words_between(std::size_t left, std::size_t right) const {
    std::size_t words = gap(elements_[left], elements_[right]);
    for (std::size_t i = left + 1; i < right; ++i) {
      if (elements_[i].is(ConceptKind::split)) words -= elements_[i].end - elements_[i].begin;
    }
    return words;
  }

  bool stands_before(ConceptKind kind, std::size_t predicate, std::size_t subject) const {
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

  /// A split alone stands for what was spoken of: `train goes down, val goes up`.
  std::string implied_subject(std::size_t predicate) const {
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

  /// Words before an element that the lexicon does not know.
  std::size_t words_before(std::size_t at) const {
    std::size_t words = elements_[at].begin;
    for (std::size_t i = 0; i < at; ++i)
      words -= std::min(words, elements_[i].end - elements_[i].begin);
    return words;
  }

  /// The subject that a split is a part of: `accuracy` for `eval_accuracy`.
  const Concept* base_of(const std::string& subject) const {
    for (const Concept& each : lexicon_.all()) {
      if (each.kind != ConceptKind::subject || each.eval.empty()) continue;
      if (each.id == subject || each.eval == subject || each.train == subject) return &each;
    }
    return nullptr;
  }

  const Concept* shaped(const Concept* predicate, const std::string& subject) const {
    if (predicate->becomes.empty()) return predicate;
    auto found = predicate->becomes.find(subject);
    if (found == predicate->becomes.end()) {
      const Concept* who = subject_named(subject);
      if (who != nullptr) found = predicate->becomes.find(who->nature);
    }
    return found == predicate->becomes.end() ? predicate
                                             : lexicon_.find(ConceptKind::predicate, found->second);
  }

  std::string judgement(const Concept& predicate, const std::string& subject) const {
    if (predicate.judges != "rising" && predicate.judges != "falling") return predicate.judges;
    const Concept* who = subject_named(subject);
    const std::string_view better = predicate.judges == "rising" ? "lower" : "higher";
    return who != nullptr && who->nature == better ? "bad" : "";
  }

  void claim(std::size_t predicate) {
    const std::size_t at = pick_subject(predicate);
    if (stands_before(ConceptKind::hope, predicate, at)) return;
    const bool negated = stands_before(ConceptKind::negation, predicate, at);
    const bool asked = sentence_.question && elements_[predicate].what->judges == "good";
    if (asked) return;
    std::vector<std::string> subjects;
    if (at == k_nowhere) {
      const std::string implied = implied_subject(predicate);
      if (!implied.empty()) subjects.push_back(implied);
    } else {
      subjects = coordinated(at, predicate);
    }
    for (const std::string& subject : subjects) {
      const Concept* what = shaped(elements_[predicate].what, subject);
      if (negated) {
        if (what->opposite.empty()) continue;
        what = shaped(lexicon_.find(ConceptKind::predicate, what->opposite), subject);
      }
      Placed placed{{}, elements_[predicate].clause};
      placed.claim.subject = subject;
      placed.claim.predicate = what->id;
      placed.claim.judges = judgement(*what, subject);
      take_values(predicate, placed.claim);
      put(std::move(placed));
    }
  }

  /// `loss and grad_norm are NaN`: the subjects that are joined to the one that was found.
  std::vector<std::string> coordinated(std::size_t at, std::size_t predicate) const {
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
      }
      right = i;
    }
    return subjects;
  }

  /// Things of which one sentence says the same: metrics and tensors, or two of one nature.
  static bool alike(const Concept& a, const Concept& b) {
    const auto measured = [](const Concept& each) {
      return each.nature == "lower" || each.nature == "higher" || each.nature == "level" ||
             each.nature == "state";
    };
    return a.nature == b.nature || (measured(a) && measured(b));
  }

  /// The clause of `left` says something itself, and is not that of `right`.
  bool clause_claims(std::size_t left, std::size_t right) const {
    if (elements_[left].clause == elements_[right].clause) return false;
    return std::any_of(elements_.begin(), elements_.end(), [&](const Element& each) {
      return each.clause == elements_[left].clause &&
             (each.is(ConceptKind::predicate) || each.kind == ElementKind::number);
    });
  }

  static bool is_time(const Element& number) {
    return number.unit == "step" || number.unit == "epoch";
  }

  /// Numbers behind the predicate (`from 2.3 to 0.4`, `at 0.69`), and when it was.
  void take_values(std::size_t predicate, Claim& claim) {
    const Element& at = elements_[predicate];
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const Element& other = elements_[i];
      if (other.clause != at.clause || other.kind != ElementKind::number || !is_time(other))
        continue;
      (other.unit == "step" ? claim.step : claim.epoch) = other.value;
    }
    std::size_t last = predicate;
    for (std::size_t i = predicate + 1; i < elements_.size(); ++i) {
      const Element& other = elements_[i];
      if (other.clause != at.clause || gap(elements_[last], other) > k_value_reach) break;
      if (other.is(ConceptKind::subject) || other.is(ConceptKind::predicate)) break;
      if (other.kind != ElementKind::number || is_time(other)) continue;
      const std::string measured = owner_by_unit(other.unit);
      if (!measured.empty() && measured != claim.subject) break;
      place_value(i, claim);
      used_[i] = true;
      last = i;
    }
  }

  void place_value(std::size_t number, Claim& claim) const {
    const ElementKind led = number > 0 && gap(elements_[number - 1], elements_[number]) <= 2
                                ? elements_[number - 1].kind
                                : ElementKind::known;
    const double value = shared(claim.subject, elements_[number]);
    if (!elements_[number].unit.empty()) claim.unit = elements_[number].unit;
    if (led == ElementKind::from && !claim.from) {
      claim.from = value;
    } else if (led == ElementKind::to && !claim.to) {
      claim.to = value;
    } else if (!claim.value) {
      claim.value = value;
    }
  }

  /// Shares are written as percent, with or without the sign, or as fractions.
  double shared(const std::string& subject, const Element& number) const {
    const Concept* who = subject_named(subject);
    const bool percent = who != nullptr && who->share && number.unit.empty() && number.value > 1 &&
                         number.value <= 100;
    return percent ? number.value / 100 : number.value;
  }

  /// `the loss goes from 6.3 to 2e11`: the numbers are the predicate.
  void ranges() {
    for (std::size_t i = 0; i + 3 < elements_.size(); ++i) {
      const bool range =
          elements_[i].kind == ElementKind::from && elements_[i + 1].kind == ElementKind::number &&
          elements_[i + 2].kind == ElementKind::to && elements_[i + 3].kind == ElementKind::number;
      if (!range || used_[i + 1] || used_[i + 3]) continue;
      if (is_time(elements_[i + 1]) || is_time(elements_[i + 3])) continue;
      const std::size_t before = subject_before(i);
      const std::string subject = before != k_nowhere ? subject_[before] : spoken_of_;
      if (subject.empty()) continue;
      Placed placed{{}, elements_[i].clause};
      placed.claim.subject = subject;
      placed.claim.from = shared(subject, elements_[i + 1]);
      placed.claim.to = shared(subject, elements_[i + 3]);
      placed.claim.unit = elements_[i + 3].unit;
      if (*placed.claim.from == *placed.claim.to) continue;
      placed.claim.predicate = *placed.claim.to > *placed.claim.from ? "rises" : "falls";
      used_[i + 1] = used_[i + 3] = true;
      put(std::move(placed));
    }
  }

  /// Numbers that no predicate took: `accuracy (99 %)`, `GPU usage was 20 %`, `90 s/it`.
  void values() {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const Element& number = elements_[i];
      if (number.kind != ElementKind::number || used_[i] || is_time(number)) continue;
      const std::string subject = owner_of(i);
      if (subject.empty()) continue;
      Placed placed{{}, number.clause};
      placed.claim.subject = subject;
      placed.claim.value = shared(subject, number);
      placed.claim.unit = number.unit;
      used_[i] = true;
      put(std::move(placed));
    }
  }

  std::string owner_of(std::size_t number) const {
    const Element& at = elements_[number];
    if (const std::string measured = owner_by_unit(at.unit); !measured.empty()) return measured;
    std::size_t split = split_behind(number);  // `99 % on train`
    if (split != k_nowhere) return measured_on(split, at);
    for (std::size_t i = number; i-- > 0;) {
      const Element& other = elements_[i];
      if (other.clause != at.clause || gap(other, at) > k_value_reach) break;
      if (other.is(ConceptKind::subject)) return subject_[i];
      if (other.is(ConceptKind::predicate) || other.kind == ElementKind::number) break;
      if (other.is(ConceptKind::split) && split == k_nowhere && !used_[i]) split = i;
    }
    for (std::size_t i = number + 1; i < elements_.size(); ++i) {
      const Element& other = elements_[i];
      if (other.clause != at.clause || gap(at, other) > k_behind_reach) break;
      if (other.is(ConceptKind::subject)) return subject_[i];
      if (other.is(ConceptKind::predicate) || other.kind == ElementKind::number) break;
      if (other.is(ConceptKind::split) && split == k_nowhere && !used_[i]) split = i;
    }
    return split == k_nowhere ? std::string() : measured_on(split, at);
  }

  std::size_t split_behind(std::size_t number) const {
    const bool placed = number + 2 < elements_.size() &&
                        elements_[number + 1].kind == ElementKind::on &&
                        elements_[number + 2].is(ConceptKind::split) && !used_[number + 2] &&
                        elements_[number + 2].clause == elements_[number].clause &&
                        gap(elements_[number], elements_[number + 2]) <= k_behind_reach;
    return placed ? number + 2 : k_nowhere;
  }

  /// `99 % on train`: of what was spoken of, or, in percent, an accuracy.
  std::string measured_on(std::size_t split, const Element& number) const {
    const Concept* last = base_of(spoken_of_);
    if (last != nullptr && last->id != "loss") return on_split(*last, elements_[split].what->id);
    const Concept* accuracy = subject_named("accuracy");
    return number.unit == "percent" && accuracy != nullptr
               ? on_split(*accuracy, elements_[split].what->id)
               : std::string();
  }

  std::string owner_by_unit(const std::string& unit) const {
    return lexicon_.subject_of_unit(unit);
  }

  void put(Placed placed) {
    const Claim& claim = placed.claim;
    const bool to_zero =
        (claim.to && *claim.to == 0) || (!claim.to && claim.value && *claim.value == 0);
    if (to_zero && claim.predicate != "zero") {
      Placed zero = placed;
      zero.claim.predicate = "zero";
      zero.claim.judges.clear();
      placed_.push_back(std::move(zero));
    }
    placed_.push_back(std::move(placed));
  }

  /// Conditions hold for the claims of their clause. A clause of conditions alone speaks of those
  /// that follow, up to one with conditions of its own; the last one speaks of what stood before.
  void conditions() {
    std::vector<std::string> standing, standing_without;
    for (std::size_t clause = 0; clause < sentence_.clauses; ++clause) {
      std::vector<std::string> here, without;
      collect(clause, here, without);
      const bool own = !here.empty() || !without.empty();
      if (own) {
        standing = here;
        standing_without = without;
      }
      bool claims = attach(clause, standing, standing_without);
      const bool last = clause + 1 == sentence_.clauses;
      if (!claims && own && last && clause > 0) claims = attach(clause - 1, here, without);
      if (claims && own) {
        standing.clear();
        standing_without.clear();
      }
    }
  }

  void collect(std::size_t clause, std::vector<std::string>& here,
               std::vector<std::string>& without) const {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].clause != clause || !elements_[i].is(ConceptKind::condition)) continue;
      const bool off = i > 0 && elements_[i - 1].is(ConceptKind::negation) &&
                       elements_[i - 1].clause == clause &&
                       gap(elements_[i - 1], elements_[i]) <= 2;
      (off ? without : here).push_back(elements_[i].what->id);
    }
  }

  bool attach(std::size_t clause, const std::vector<std::string>& here,
              const std::vector<std::string>& without) {
    bool any = false;
    for (Placed& placed : placed_) {
      if (placed.clause != clause) continue;
      any = true;
      Claim& claim = placed.claim;
      claim.conditions.insert(claim.conditions.end(), here.begin(), here.end());
      claim.without.insert(claim.without.end(), without.begin(), without.end());
    }
    return any;
  }

  const Lexicon& lexicon_;
  const Sentence& sentence_;
  const std::vector<Element>& elements_;
  std::string& spoken_of_;
  bool first_of_line_;
  std::vector<std::string> subject_;  ///< by element: the subject with its split
  std::vector<bool> used_;            ///< numbers and splits that belong to something
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<Claim> ClaimGrammar::line(std::string_view text) {
  std::vector<Claim> claims;
  std::size_t number = 0;
  for (const Sentence& sentence : sentences_of(lexicon_, tokenize(text, k_most_tokens))) {
    for (Claim& claim : SentenceReader(lexicon_, sentence, spoken_of_, number == 0).run()) {
      claim.sentence = number;
      claims.push_back(std::move(claim));
    }
    ++number;
  }
  return claims;
}

}  // namespace aplomb::claims

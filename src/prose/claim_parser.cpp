#include "prose/claim_parser.h"

#include <algorithm>

#include "prose/claim_topics.h"
#include "prose/sentence_context.h"

namespace aplomb::prose {
namespace {

constexpr std::size_t k_behind_reach = 3;  ///< tokens: `99 % on train`
constexpr std::size_t k_value_reach = 7;   ///< tokens: `accuracy of the validation set is 99 %`
constexpr std::size_t k_nowhere = SentenceContext::k_nowhere;

/// A claim and the clause that makes it.
struct Placed {
  Claim claim;
  std::size_t clause = 0;
};

class SentenceReader {
 public:
  SentenceReader(const Lexicon& lexicon, const Sentence& sentence, SentenceContext& context)
      : lexicon_(lexicon), sentence_(sentence), elements_(sentence.elements), context_(context) {}

  std::vector<Claim> run() {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].is(ConceptKind::subject)) context_.speak_of(context_.subject(i));
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
  void claim(std::size_t predicate) {
    const std::size_t at = context_.pick_subject(predicate);
    if (context_.stands_before(ConceptKind::hope, predicate, at)) return;
    const bool negated = context_.stands_before(ConceptKind::negation, predicate, at) ||
                         (sentence_.question && context_.is_denied(at, predicate));
    const bool asked = sentence_.question && elements_[predicate].what->judges == "good";
    if (asked) return;
    std::vector<std::string> subjects;
    if (at == k_nowhere) {
      const std::string implied = context_.implied_subject(predicate);
      if (!implied.empty()) subjects.push_back(implied);
    } else {
      subjects = context_.coordinated(at, predicate);
      const std::size_t split = context_.split_of_predicate(predicate);
      const Concept* base = split == k_nowhere ? nullptr : context_.base_of(subjects.front());
      if (base != nullptr) subjects = {context_.on_split(*base, elements_[split].what->id)};
    }
    for (const std::string& subject : subjects) {
      const Concept* what = context_.shaped(elements_[predicate].what, subject);
      if (negated) {
        if (what->opposite.empty()) continue;
        what = context_.shaped(lexicon_.find(ConceptKind::predicate, what->opposite), subject);
      }
      Placed placed{{}, elements_[predicate].clause};
      placed.claim.subject = subject;
      placed.claim.predicate = what->id;
      placed.claim.judges = context_.judgement(*what, subject);
      take_values(predicate, placed.claim);
      put(std::move(placed));
    }
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
      if (split_behind(i) != k_nowhere) break;  // `poor: 99 % train`
      place_value(i, claim);
      context_.use(i);
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
    const Concept* who = context_.subject_named(subject);
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
      if (!range || context_.is_used(i + 1) || context_.is_used(i + 3)) continue;
      if (is_time(elements_[i + 1]) || is_time(elements_[i + 3])) continue;
      const std::size_t before = context_.subject_before(i);
      const std::string subject =
          before != k_nowhere ? context_.subject(before) : context_.spoken_of();
      if (subject.empty()) continue;
      Placed placed{{}, elements_[i].clause};
      placed.claim.subject = subject;
      placed.claim.from = shared(subject, elements_[i + 1]);
      placed.claim.to = shared(subject, elements_[i + 3]);
      placed.claim.unit = elements_[i + 3].unit;
      if (*placed.claim.from == *placed.claim.to) continue;
      placed.claim.predicate = *placed.claim.to > *placed.claim.from ? "rises" : "falls";
      context_.use(i + 1);
      context_.use(i + 3);
      put(std::move(placed));
    }
  }

  /// Numbers that no predicate took: `accuracy (99 %)`, `GPU usage was 20 %`, `90 s/it`.
  void values() {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const Element& number = elements_[i];
      if (number.kind != ElementKind::number || context_.is_used(i) || is_time(number)) continue;
      const std::string subject = owner_of(i);
      if (subject.empty()) continue;
      Placed placed{{}, number.clause};
      placed.claim.subject = subject;
      placed.claim.value = shared(subject, number);
      placed.claim.unit = number.unit;
      context_.use(i);
      put(std::move(placed));
    }
  }

  std::string owner_of(std::size_t number) const {
    const Element& at = elements_[number];
    if (const std::string measured = owner_by_unit(at.unit); !measured.empty()) return measured;
    std::size_t split = split_behind(number);
    if (split != k_nowhere) return measured_on(split, at);
    for (std::size_t i = number; i-- > 0;) {
      if (gap(elements_[i], at) > k_value_reach) break;
      const Meeting met = meet(i, at, split);
      if (met == Meeting::owner) return context_.subject(i);
      if (met == Meeting::end) break;
    }
    for (std::size_t i = number + 1; i < elements_.size(); ++i) {
      if (gap(at, elements_[i]) > k_behind_reach) break;
      const Meeting met = meet(i, at, split);
      if (met == Meeting::owner) return context_.subject(i);
      if (met == Meeting::end) break;
    }
    return split == k_nowhere ? std::string() : measured_on(split, at);
  }

  enum class Meeting : std::uint8_t { owner, nothing, end };

  /// What an element beside a number is to it; notes the first split that nothing has taken.
  Meeting meet(std::size_t i, const Element& number, std::size_t& split) const {
    const Element& other = elements_[i];
    if (other.clause != number.clause || other.is(ConceptKind::predicate) ||
        other.kind == ElementKind::number)
      return Meeting::end;
    if (other.is(ConceptKind::subject)) return Meeting::owner;
    if (other.is(ConceptKind::split) && split == k_nowhere && !context_.is_used(i)) split = i;
    return Meeting::nothing;
  }

  std::size_t split_behind(std::size_t number) const {
    const bool placed =
        number + 2 < elements_.size() && elements_[number + 1].kind == ElementKind::on &&
        elements_[number + 2].is(ConceptKind::split) && !context_.is_used(number + 2) &&
        elements_[number + 2].clause == elements_[number].clause &&
        gap(elements_[number], elements_[number + 2]) <= k_behind_reach;
    if (placed) return number + 2;
    const bool adjacent =
        number + 1 < elements_.size() && elements_[number + 1].is(ConceptKind::split) &&
        !context_.is_used(number + 1) && elements_[number + 1].begin == elements_[number].end &&
        !context_.names_a_subject(number + 1);
    return adjacent ? number + 1 : k_nowhere;  // `99 % train`
  }

  /// `99 % on train`: of what was spoken of, or, in percent, an accuracy.
  std::string measured_on(std::size_t split, const Element& number) const {
    const Concept* last = context_.base_of(context_.spoken_of());
    if (last != nullptr && last->id != "loss")
      return context_.on_split(*last, elements_[split].what->id);
    const Concept* accuracy = context_.subject_named("accuracy");
    return number.unit == "percent" && accuracy != nullptr
               ? context_.on_split(*accuracy, elements_[split].what->id)
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
  SentenceContext& context_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<Claim> ClaimParser::line(std::string_view text) {
  std::vector<Claim> claims;
  std::size_t number = 0;
  const std::vector<Token> tokens = tokenize(text, k_most_tokens);
  mentioned_ = Topics::instance().of(tokens);
  for (const Sentence& sentence : sentences_of(lexicon_, tokens)) {
    SentenceContext context(lexicon_, sentence, number == 0, spoken_of_);
    for (Claim& claim : SentenceReader(lexicon_, sentence, context).run()) {
      claim.sentence = number;
      claims.push_back(std::move(claim));
    }
    spoken_of_ = context.spoken_of();
    for (const Element& element : sentence.elements) {
      if (element.is(ConceptKind::condition)) mentioned_.push_back(element.what->id);
    }
    ++number;
  }
  return claims;
}

}  // namespace aplomb::prose

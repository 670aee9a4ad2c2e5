#include "prose/claim_elements.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace aplomb::prose {
namespace {

template <std::size_t N>
bool one_of(const std::string& text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 17> k_copulas = {
    "is",     "are",  "was", "were", "be", "been", "being", "becomes", "become",
    "became", "gets", "get", "got",  "为", "是",   "变",    "成"};
constexpr std::array<std::string_view, 6> k_joints = {"and", "or", "/", "&", "和", "与"};
constexpr std::array<std::string_view, 8> k_on = {"on", "in", "of", "for", "at", "over", "在", "("};
constexpr std::array<std::string_view, 3> k_from = {"from", "从", "由"};
constexpr std::array<std::string_view, 5> k_to = {"to", "到", "至", "until", ">"};

class Cutter {
 public:
  Cutter(const Lexicon& lexicon, const std::vector<Token>& tokens)
      : lexicon_(lexicon), tokens_(tokens) {}

  std::vector<Sentence> run() {
    while (at_ < tokens_.size()) {
      if (ends_sentence(tokens_[at_])) {
        now_.question = tokens_[at_].text == "?";
        close();
        ++at_;
      } else if (!known() && !number()) {
        small();
        ++at_;
      }
    }
    close();
    return std::move(sentences_);
  }

 private:
  void add(Element element, std::size_t size) {
    element.begin = at_;
    element.end = at_ + size;
    element.clause = now_.clauses - 1;
    now_.elements.push_back(std::move(element));
    at_ += size;
  }

  void close() {
    settle();
    if (!now_.elements.empty()) sentences_.push_back(std::move(now_));
    now_ = {};
  }

  /// What a word is may hang on the next: `training loss` and `the training hangs`, `stopped
  /// decreasing` and `stopped`.
  void settle() {
    for (std::size_t i = 0; i < now_.elements.size(); ++i) {
      Element& element = now_.elements[i];
      if (element.kind != ElementKind::known) continue;
      const Element* next = i + 1 < now_.elements.size() ? &now_.elements[i + 1] : nullptr;
      const bool adjacent =
          next != nullptr && next->clause == element.clause && next->begin <= element.end + 1;
      if (!element.what->is.empty()) {
        const bool split = splits_what_follows(i);
        element.what = split ? lexicon_.find(ConceptKind::split, element.what->split)
                             : lexicon_.find(ConceptKind::subject, element.what->is);
      } else if (element.is(ConceptKind::predicate) && element.what->id == "stops" && adjacent &&
                 next->begin == element.end && next->is(ConceptKind::predicate)) {
        element.what = lexicon_.find(ConceptKind::negation, "negation");
      }
    }
  }

  /// `training loss`, `training and validation loss`.
  bool splits_what_follows(std::size_t at) const {
    const std::vector<Element>& all = now_.elements;
    std::size_t next = at + 1;
    const bool joined = next + 1 < all.size() && all[next].kind == ElementKind::joint &&
                        all[next + 1].is(ConceptKind::split);
    if (joined) next += 2;
    return next < all.size() && all[next].is(ConceptKind::subject) &&
           !all[next].what->train.empty() && all[next].clause == all[at].clause &&
           all[next].begin <= all[next - 1].end + 1;
  }

  /// Borders without anything before them make no empty clauses.
  void new_clause() {
    const bool begun = !now_.elements.empty() && now_.elements.back().clause + 1 == now_.clauses;
    if (begun) ++now_.clauses;
  }

  bool known() {
    const Lexicon::Match match = lexicon_.match(tokens_, at_);
    if (match.what == nullptr) return false;
    if (match.what->kind == ConceptKind::clause) new_clause();
    if (match.what->kind == ConceptKind::clause || match.what->kind == ConceptKind::idiom) {
      at_ += match.size;
      return true;
    }
    Element element;
    element.what = match.what;
    const std::size_t begin = at_;
    add(std::move(element), match.size);
    for (std::size_t i = begin; i < at_; ++i) add_time(i);
    return true;
  }

  /// `is 0`, `drops to 0 %`: the number is what the subject is.
  void add_zero(const Element& number) {
    if (number.value != 0 || now_.elements.empty()) return;
    if (!number.unit.empty() && number.unit != "percent") return;
    const Element& last = now_.elements.back();
    const bool stated = (last.kind == ElementKind::copula || last.kind == ElementKind::to) &&
                        at_ - last.end <= 1 && last.clause + 1 == now_.clauses;
    Element zero;
    zero.what = lexicon_.find(ConceptKind::predicate, "zero");
    if (stated && zero.what != nullptr) add(std::move(zero), 0);
  }

  static bool is_time(const Unit* unit) {
    return unit != nullptr && (unit->id == "step" || unit->id == "epoch");
  }

  /// The number in `after 300 steps`, which a condition took, still says when.
  void add_time(std::size_t at) {
    if (tokens_[at].kind != TokenKind::number) return;
    const Unit* unit = lexicon_.match_unit(tokens_, at + 1).unit;
    if (!is_time(unit) && at > 0) unit = lexicon_.match_unit(tokens_, at - 1).unit;
    if (!is_time(unit)) return;
    Element element;
    element.kind = ElementKind::number;
    element.value = tokens_[at].value;
    element.unit = unit->id;
    add(std::move(element), 0);
  }

  bool number() {
    if (tokens_[at_].kind != TokenKind::number) return false;
    Element element;
    element.kind = ElementKind::number;
    element.value = tokens_[at_].value;
    const Lexicon::UnitMatch match = lexicon_.match_unit(tokens_, at_ + 1);
    if (match.unit != nullptr) {
      element.value *= match.unit->scale;
      element.unit = match.unit->id;
    } else if (at_ > 0) {  // `epoch 3`
      const Lexicon::UnitMatch before = lexicon_.match_unit(tokens_, at_ - 1);
      if (before.size == 1 && is_time(before.unit)) element.unit = before.unit->id;
    }
    add_zero(element);
    add(std::move(element), 1 + match.size);
    return true;
  }

  void small() {
    const Token& token = tokens_[at_];
    const auto add_kind = [&](ElementKind kind) {
      Element element;
      element.kind = kind;
      add(std::move(element), 1);
      --at_;  // the caller steps over it
    };
    if (token.text == "," || token.text == ";" || token.text == ":") {
      // `loss: 0.5`, `accuracy, 99 %`: what follows belongs to the subject.
      const bool number = at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::number;
      if (!number || token.text == ";") new_clause();
    } else if (one_of(token.text, k_on)) {
      add_kind(ElementKind::on);
    } else if (one_of(token.text, k_copulas) || token.text == "=") {
      add_kind(ElementKind::copula);
    } else if (one_of(token.text, k_joints)) {
      add_kind(ElementKind::joint);
    } else if (one_of(token.text, k_from)) {
      add_kind(ElementKind::from);
    } else if (one_of(token.text, k_to)) {
      add_kind(ElementKind::to);
    }
  }

  const Lexicon& lexicon_;
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  Sentence now_;
  std::vector<Sentence> sentences_;
};

}  // namespace

std::vector<Sentence> sentences_of(const Lexicon& lexicon, const std::vector<Token>& tokens) {
  return Cutter(lexicon, tokens).run();
}

}  // namespace aplomb::prose

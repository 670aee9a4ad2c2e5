#pragma once
/// The lexicon of what people claim (knowledge/claims): concepts, each with the phrases that
/// name it. A phrase is one or more words; `increas*` stands for every word that begins so, `#` for
/// any number. The longest phrase at a place wins.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knowledge/document.h"
#include "prose/claim_tokens.h"

namespace aplomb::prose {

enum class ConceptKind : std::uint8_t {
  subject,    ///< what is spoken of: loss, GPU memory, the run
  split,      ///< training or held-out data, said of a subject
  predicate,  ///< what it does or how it is: rises, constant, NaN
  condition,  ///< under which circumstances: in fp16, after a resume, on one card
  negation,
  hope,    ///< `should`, `expected to`: what follows is not what happens
  clause,  ///< `but`, `while`, `then`: a new clause begins
  idiom,   ///< `machine learning`: says nothing of the run
};

struct Concept {
  ConceptKind kind = ConceptKind::subject;
  std::string id;
  // subject
  std::string nature;  ///< lower | higher (which of them is better), process, resource, setting
  /// The subject that it is on that split; empty: no difference.
  std::string train, eval, field;
  std::string is, split;  ///< `training`: the run, or, before another subject, that split
  bool state = false;     ///< predicate: its value is the subject's, not that of a change
  bool share = false;     ///< a share: `99`, `99 %` and `0.99` are the same
  // predicate
  std::string opposite;  ///< what its negation says; empty: nothing
  std::string alone;     ///< the subject where none is named; empty: says nothing then
  std::string judges;  ///< good | bad | rising | falling (bad where that is the worse way) | empty
  std::map<std::string, std::string> becomes;  ///< by the subject's nature or id
};

struct Unit {
  std::string id;  ///< percent, s_per_it, gb, ...
  double scale = 1;
  std::string subject;  ///< what is measured in it where nothing is named: `90 s/it`
};

class Lexicon {
 public:
  /// The lexicon of the embedded knowledge; safe from several threads.
  static const Lexicon& instance();

  struct Match {
    const Concept* what = nullptr;
    std::size_t size = 0;  ///< tokens
  };
  Match match(const std::vector<Token>& tokens, std::size_t at) const;

  struct UnitMatch {
    const Unit* unit = nullptr;
    std::size_t size = 0;
  };
  UnitMatch match_unit(const std::vector<Token>& tokens, std::size_t at) const;

  std::string subject_of_unit(std::string_view unit) const;

  const Concept* find(ConceptKind kind, std::string_view id) const;
  const std::vector<Concept>& all() const { return concepts_; }
  /// Entries that could not be used, with the reason: empty unless the knowledge has a mistake (the
  /// tests look here).
  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  struct Phrase {
    std::vector<std::string> words;
    std::uint32_t owner = 0;
  };
  /// Phrases by the first two bytes of their first word; those that begin with a number under "#".
  using Index = std::unordered_map<std::string, std::vector<Phrase>>;

  Lexicon();
  void load(ConceptKind kind, std::string_view key, const knowledge::Node& list);
  void load_units();
  void add_phrase(Index& index, const std::string& phrase, std::uint32_t owner);
  void check();
  static const Phrase* longest(const Index& index, const std::vector<Token>& tokens,
                               std::size_t at);

  std::vector<Concept> concepts_;
  std::vector<Unit> units_;
  Index phrases_;
  Index unit_phrases_;
  std::vector<std::string> mistakes_;
};

}  // namespace aplomb::prose

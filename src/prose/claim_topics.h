#pragma once
/// Topics (knowledge/topics): what a sentence is about, where no single subject does
/// something. A topic is heard where one sentence holds a phrase of each of its groups, in any
/// order and at any distance, and none of `none`:
///
///     - {id: split_leak, all: [[split*, test, validation],
///                              [duplicat*, "same patient*", overlap*]]}
///     "Slices of the same patients are in training and test."      -> said.about.split_leak
///
/// `ordered: true` asks for the groups in their order, `question: true` for a question.
/// Cost: one look-up a token; sentences of at most k_most_tokens tokens.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knowledge/document.h"
#include "prose/claim_tokens.h"

namespace aplomb::prose {

class Topics {
 public:
  /// The topics of the embedded knowledge; safe from several threads.
  static const Topics& instance();

  /// Ids of the topics of a line's sentences, each once, in the order of the knowledge. Contracted
  /// negations (`doesn't`) count as `not`.
  std::vector<std::string> of(std::vector<Token> line) const;

  std::vector<std::string> ids() const;
  /// Entries that could not be used, with the reason: the tests hold this empty.
  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  struct Topic {
    std::string id;
    std::size_t groups = 0;  ///< those that must be met; the one behind them must not
    bool ordered = false;
    bool question = false;
  };
  struct Phrase {
    std::vector<std::string> words;
    std::uint32_t topic = 0;
    std::uint32_t group = 0;
  };
  struct Meeting {
    std::uint32_t group = 0;
    std::size_t at = 0;
  };
  using Index = std::unordered_map<std::string, std::vector<Phrase>>;

  Topics();
  void add_topic(const knowledge::Node& entry);
  void add_group(const std::vector<std::string>& phrases, std::uint32_t group);
  void meet(const std::vector<Token>& line, std::size_t at,
            std::vector<std::vector<Meeting>>& met) const;
  static bool is_heard(const Topic& topic, const std::vector<Meeting>& met, bool question);

  std::vector<Topic> topics_;
  Index phrases_;
  std::vector<std::string> mistakes_;
};

}  // namespace aplomb::prose

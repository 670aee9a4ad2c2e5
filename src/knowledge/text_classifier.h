#pragma once
/// TextClassifier: which words and which facts speak for which cause (models/report_classifier,
/// learnt from written reports and labelled public ones by tools/train_report_classifier.py).
///
///     const auto words = knowledge::word_features("The loss goes to NaN after 300 steps.");
///     // "the", "loss", "the loss", "goe", ..., "loss goe", ...  stems and pairs of neighbours
///     for (const auto& [cause, nats, loudest] : TextClassifier::instance().weigh(words)) ...
///
/// A feature counts once, however often it stands in the text. What the program itself made out is
/// a feature too: `@said.loss.nonfinite` is a fact that holds, `@precision.compute=fp16` one whose
/// value is a word. `weigh` gives the logarithm of each cause's probability over an even chance: 0
/// says nothing, above 0 speaks for it. It answers nothing for a text of fewer than k_fewest known
/// words. Safe from several threads. Cost: about 1 us a word, 200 us a report.
///
/// A word counts by weights of its own, where reports enough hold it, and by its direction among
/// words of like meaning: a few steps along axes that hold what a step speaks for each cause. So a
/// word that no report holds is heard as its neighbours are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knowledge/classifier_weights.h"

namespace aplomb::knowledge {

/// Stems and pairs of neighbours in a sentence, each once, in the order of the text; at most
/// k_largest_text bytes are looked at.
std::vector<std::string> word_features(std::string_view text);

class TextClassifier {
 public:
  /// A reader gives the features of its artifact as one fact of this name.
  static constexpr std::string_view k_fact = "text.words";
  /// Holds where an artifact is an account that somebody wrote, not only a log or a program.
  static constexpr std::string_view k_account = "text.account";
  /// Holds beside it where the account is a few words in which nobody speaks or asks.
  static constexpr std::string_view k_message = "text.message";
  static constexpr char k_between = '|';
  static constexpr std::size_t k_largest_text = 6000;  ///< bytes of one artifact
  static constexpr std::size_t k_fewest = 6;  ///< learnt words; fewer say where a text comes from
                                              ///< and not what it tells
  static constexpr char k_fact_mark = '@';
  static constexpr std::string_view k_healthy = "healthy";  ///< a cause like the others, here

  struct Verdict {
    std::string_view cause;  ///< `family.slug`; k_healthy
    double nats = 0;
    std::vector<std::string_view> words;  ///< features that speak for it, loudest first
  };

  static const TextClassifier& instance();

  bool knows(const std::string& feature) const {
    return features_.contains(feature) || words_.contains(feature);
  }
  /// `features` each once. One verdict for each known cause, or none at all.
  std::vector<Verdict> weigh(const std::vector<std::string>& features) const;
  const std::vector<std::string>& causes() const { return weights_.causes; }
  /// Those with weights of their own.
  const std::vector<std::string>& features() const { return weights_.features; }

 private:
  /// Words and facts are weighed apart: a long text has many words, and no fact counts less for it.
  struct Scores {
    std::vector<double> words, facts;  ///< of each cause
    std::size_t known_words = 0, known_facts = 0;
    std::size_t learnt_words = 0;  ///< of known_words, those with weights of their own
  };

  TextClassifier();
  Scores add_up(const std::vector<std::string>& features) const;
  std::vector<std::string_view> loudest(const std::vector<std::string>& features,
                                        std::size_t cause) const;

  using Index = std::unordered_map<std::string_view, std::size_t>;
  ClassifierWeights weights_;
  Index features_;  ///< those with weights of their own
  Index words_;     ///< those with a direction
};

}  // namespace aplomb::knowledge

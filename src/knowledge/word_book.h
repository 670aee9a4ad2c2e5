#pragma once
/// WordBook: which words speak for which cause (knowledge/words.yaml, learnt from written reports
/// by tools/learn_words.py).
///
///     const auto words = knowledge::word_features("The loss goes to NaN after 300 steps.");
///     // "the", "los", "the los", "goe", ..., "los goe", ...  stems and pairs of neighbours
///     for (const auto& [cause, nats] : WordBook::instance().weigh(words)) ...
///
/// A feature counts once, however often it stands in the text. `weigh` gives the logarithm of each
/// cause's probability over its share of the reports: 0 says nothing, above 0 speaks for it. It
/// answers nothing for a text of fewer than k_fewest known features. Safe from several threads.
/// Cost: about 1 us a word, 100 us a report.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace aplomb::knowledge {

/// Stems and pairs of neighbours in a sentence, each once, in the order of the text; at most
/// k_largest_text bytes are looked at.
std::vector<std::string> word_features(std::string_view text);

class WordBook {
 public:
  /// A reader gives the features of its artifact as one fact of this name.
  static constexpr std::string_view k_fact = "text.words";
  static constexpr char k_between = '|';
  static constexpr std::size_t k_largest_text = 6000;  ///< bytes of one artifact
  static constexpr std::size_t k_fewest = 6;  ///< known features; fewer say where a text comes from
                                              ///< and not what it tells

  struct Verdict {
    std::string_view cause;  ///< slug without its family; `healthy`
    double nats = 0;
    std::vector<std::string_view> words;  ///< those that speak for it, loudest first
  };

  static const WordBook& instance();

  bool knows(const std::string& feature) const { return words_.contains(feature); }
  /// `features` each once. One verdict for each cause of the book, or none at all.
  std::vector<Verdict> weigh(const std::vector<std::string>& features) const;
  const std::vector<std::string>& causes() const { return causes_; }

 private:
  struct Weight {
    std::uint32_t cause = 0;
    float nats = 0;
  };
  WordBook();
  std::vector<std::string_view> loudest(const std::vector<std::string>& features,
                                        std::size_t cause) const;

  std::vector<std::string> causes_;
  std::vector<double> bias_;
  std::vector<double> share_;  ///< of the reports, its logarithm
  std::unordered_map<std::string, std::vector<Weight>> words_;
};

}  // namespace aplomb::knowledge

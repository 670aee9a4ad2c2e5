#include "knowledge/text_classifier.h"

#include <algorithm>
#include <cmath>

namespace aplomb::knowledge {
namespace {

std::unordered_map<std::string_view, std::size_t> index_of(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> index;
  index.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) index.emplace(names[i], i);
  return index;
}

}  // namespace

const TextClassifier& TextClassifier::instance() {
  static const TextClassifier the_classifier;
  return the_classifier;
}

// What is embedded can be read: a test holds that.
TextClassifier::TextClassifier()
    : weights_(read_classifier_weights(embedded_classifier()).value_or(ClassifierWeights{})),
      features_(index_of(weights_.features)),
      words_(index_of(weights_.words)) {}

TextClassifier::Scores TextClassifier::add_up(const std::vector<std::string>& features) const {
  const std::size_t causes = weights_.causes.size();
  Scores scores{std::vector<double>(causes), std::vector<double>(causes)};
  std::vector<double> along(weights_.axis_count);
  for (const std::string& feature : features) {
    const bool is_fact = feature.front() == k_fact_mark;
    const auto found = features_.find(feature);
    const auto word = words_.find(feature);
    if (found == features_.end() && word == words_.end()) continue;
    ++(is_fact ? scores.known_facts : scores.known_words);
    if (found != features_.end()) {
      if (!is_fact) ++scores.learnt_words;
      for (const auto& [cause, nats] : weights_.of(found->second))
        (is_fact ? scores.facts : scores.words)[cause] += nats;
    }
    if (word == words_.end()) continue;
    const auto steps = weights_.steps_of(word->second);
    for (std::size_t i = 0; i < along.size(); ++i) along[i] += steps[i];
  }
  for (std::size_t i = 0; i < along.size(); ++i) {
    for (std::size_t cause = 0; cause < causes; ++cause)
      scores.words[cause] += along[i] * static_cast<double>(weights_.axes[i * causes + cause]);
  }
  return scores;
}

std::vector<TextClassifier::Verdict> TextClassifier::weigh(
    const std::vector<std::string>& features) const {
  const Scores scores = add_up(features);
  if (scores.learnt_words < k_fewest) return {};
  const auto part = [](std::size_t known) {
    return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(known, 1)));
  };
  std::vector<double> nats(weights_.bias.begin(), weights_.bias.end());
  for (std::size_t i = 0; i < nats.size(); ++i) {
    nats[i] += scores.words[i] * part(scores.known_words);
    nats[i] += scores.facts[i] * part(scores.known_facts);
  }
  const double most = *std::max_element(nats.begin(), nats.end());
  double all = 0;
  for (const double each : nats) all += std::exp(each - most);
  const double even = std::log(static_cast<double>(nats.size()));
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < nats.size(); ++i) {
    verdicts.push_back({weights_.causes[i], nats[i] - most - std::log(all) + even, {}});
    if (verdicts.back().nats > 0) verdicts.back().words = loudest(features, i);
  }
  return verdicts;
}

std::vector<std::string_view> TextClassifier::loudest(const std::vector<std::string>& features,
                                                      std::size_t cause) const {
  constexpr std::size_t k_most_named = 5;
  std::vector<std::pair<double, std::string_view>> heard;
  for (const std::string& feature : features) {
    const auto found = features_.find(feature);
    if (found == features_.end()) continue;
    for (const auto& [of, nats] : weights_.of(found->second)) {
      if (of == cause && nats > 0) heard.emplace_back(nats, found->first);
    }
  }
  std::stable_sort(heard.begin(), heard.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (heard.size() > k_most_named) heard.resize(k_most_named);
  std::vector<std::string_view> words;
  words.reserve(heard.size());
  for (const auto& [nats, word] : heard) words.push_back(word);
  return words;
}

}  // namespace aplomb::knowledge

#include "knowledge/text_classifier.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "knowledge/document.h"

namespace aplomb::knowledge {
namespace {

constexpr float k_hundredth = 0.01F;  // nats, the unit of the file's weights
constexpr double k_step = 1e-4;       // nats, the unit of its axes

/// A letter of base64's alphabet as a coordinate: A is -32, / is 31; 0 for any other.
int coordinate(char letter) {
  constexpr int k_middle = 32;
  if (letter >= 'A' && letter <= 'Z') return letter - 'A' - k_middle;
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26 - k_middle;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52 - k_middle;
  if (letter == '+') return 62 - k_middle;
  return letter == '/' ? 63 - k_middle : 0;
}

std::vector<double> numbers(const std::vector<Node>& list, std::size_t count) {
  std::vector<double> out;
  out.reserve(std::max(count, list.size()));
  for (const Node& each : list) out.push_back(each.number().value_or(0));
  out.resize(count);
  return out;
}

}  // namespace

const TextClassifier& TextClassifier::instance() {
  static const TextClassifier the_book;
  return the_book;
}

TextClassifier::TextClassifier() {
  const Node file = knowledge::file("words.yaml");
  causes_ = texts_of(file, "causes");
  bias_ = numbers(list_of(file, "bias"), causes_.size());
  for (double& bias : bias_) bias *= static_cast<double>(k_hundredth);
  const auto words = file["words"].members();
  words_.reserve(words.size());
  for (const auto& [word, told] : words) {
    if (const auto text = told.text()) read_weights(*text, words_[std::string(word)]);
  }
  read_directions(file);
}

/// `3:105 24:-61`: cause and hundredths of a nat.
void TextClassifier::read_weights(std::string_view told, std::vector<Weight>& weights) const {
  const char* at = told.data();
  const char* const end = at + told.size();
  while (at < end) {
    Weight weight;
    int hundredths = 0;
    const auto cause = std::from_chars(at, end, weight.cause);
    if (cause.ec != std::errc() || cause.ptr == end) break;
    const auto nats = std::from_chars(cause.ptr + 1, end, hundredths);
    if (nats.ec != std::errc() || weight.cause >= causes_.size()) break;
    weight.nats = static_cast<float>(hundredths) * k_hundredth;
    weights.push_back(weight);
    at = nats.ptr == end ? end : nats.ptr + 1;
  }
}

void TextClassifier::read_directions(const Node& file) {
  for (const Node& axis : list_of(file, "axes")) {
    axes_.push_back(numbers(axis.items(), causes_.size()));
    for (double& nats : axes_.back()) nats *= k_step;
  }
  const auto directions = file["directions"].members();
  directions_.reserve(directions.size());
  for (const auto& [word, told] : directions) {
    const auto letters = told.text();
    if (letters && letters->size() == axes_.size())
      directions_.emplace(std::string(word), *letters);
  }
}

TextClassifier::Scores TextClassifier::add_up(const std::vector<std::string>& features) const {
  Scores scores{std::vector<double>(causes_.size()), std::vector<double>(causes_.size())};
  std::vector<double> along(axes_.size());
  for (const std::string& feature : features) {
    const bool is_fact = feature.front() == k_fact_mark;
    const auto found = words_.find(feature);
    const auto direction = directions_.find(feature);
    if (found == words_.end() && direction == directions_.end()) continue;
    ++(is_fact ? scores.known_facts : scores.known_words);
    if (found != words_.end()) {
      if (!is_fact) ++scores.learnt_words;
      for (const Weight& weight : found->second)
        (is_fact ? scores.facts : scores.words)[weight.cause] += static_cast<double>(weight.nats);
    }
    if (direction == directions_.end()) continue;
    for (std::size_t i = 0; i < along.size(); ++i) along[i] += coordinate(direction->second[i]);
  }
  for (std::size_t i = 0; i < along.size(); ++i) {
    for (std::size_t cause = 0; cause < causes_.size(); ++cause)
      scores.words[cause] += along[i] * axes_[i][cause];
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
  std::vector<double> nats = bias_;
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
    verdicts.push_back({causes_[i], nats[i] - most - std::log(all) + even, {}});
    if (verdicts.back().nats > 0) verdicts.back().words = loudest(features, i);
  }
  return verdicts;
}

std::vector<std::string_view> TextClassifier::loudest(const std::vector<std::string>& features,
                                                      std::size_t cause) const {
  constexpr std::size_t k_most_named = 5;
  std::vector<std::pair<float, std::string_view>> heard;
  for (const std::string& feature : features) {
    const auto found = words_.find(feature);
    if (found == words_.end()) continue;
    for (const Weight& weight : found->second) {
      if (weight.cause == cause && weight.nats > 0) heard.emplace_back(weight.nats, found->first);
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

#include "knowledge/word_book.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "knowledge/document.h"

namespace aplomb::knowledge {
namespace {

constexpr float k_hundredth = 0.01F;  // the file's unit

std::vector<double> numbers(const std::vector<Node>& list, std::size_t count) {
  std::vector<double> out;
  for (const Node& each : list) out.push_back(each.number().value_or(0));
  out.resize(count);
  return out;
}

}  // namespace

const WordBook& WordBook::instance() {
  static const WordBook the_book;
  return the_book;
}

WordBook::WordBook() {
  const Node file = knowledge::file("words.yaml");
  causes_ = texts_of(file, "causes");
  bias_ = numbers(list_of(file, "bias"), causes_.size());
  for (double& bias : bias_) bias *= static_cast<double>(k_hundredth);
  const auto words = file["words"].members();
  words_.reserve(words.size());
  for (const auto& [word, told] : words) {
    const auto text = told.text();
    if (!text) continue;
    std::vector<Weight>& weights = words_[std::string(word)];
    const char* at = text->data();
    const char* const end = at + text->size();
    while (at < end) {  // `3:105 24:-61`
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
}

std::vector<WordBook::Verdict> WordBook::weigh(const std::vector<std::string>& features) const {
  // Words and facts are weighed apart: a long text has many words, and no fact counts less for it.
  std::array<std::vector<double>, 2> scores;
  std::array<std::size_t, 2> known{};
  scores.fill(std::vector<double>(causes_.size(), 0));
  for (const std::string& feature : features) {
    const auto found = words_.find(feature);
    if (found == words_.end()) continue;
    const std::size_t kind = feature.front() == k_fact_mark ? 1 : 0;
    ++known[kind];
    for (const Weight& weight : found->second)
      scores[kind][weight.cause] += static_cast<double>(weight.nats);
  }
  if (known[0] < k_fewest) return {};
  std::vector<double> nats = bias_;
  for (std::size_t kind = 0; kind < scores.size(); ++kind) {
    const double each = 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(known[kind], 1)));
    for (std::size_t i = 0; i < nats.size(); ++i) nats[i] += scores[kind][i] * each;
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

std::vector<std::string_view> WordBook::loudest(const std::vector<std::string>& features,
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

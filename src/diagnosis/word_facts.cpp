#include "diagnosis/word_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "knowledge/word_book.h"

namespace aplomb {
namespace {

using knowledge::WordBook;

std::vector<std::string> features_of(const Run& run) {
  std::vector<std::string> features;
  for (const Fact& fact : run.facts) {
    const std::string* text = fact.name == WordBook::k_fact ? as_text(fact.value) : nullptr;
    if (text == nullptr) continue;
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find(WordBook::k_between, at), text->size());
      features.push_back(text->substr(at, end - at));
      at = end + 1;
    }
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

}  // namespace

void add_word_facts(const Run& run, FactTable& facts) {
  const std::vector<std::string> features = features_of(run);
  if (features.empty()) return;
  for (const auto& verdict : WordBook::instance().weigh(features)) {
    std::string because = "stems of words that reports of this cause use:";
    for (const std::string_view word : verdict.words) because.append(" ").append(word).append(",");
    because.pop_back();
    facts.set({"words." + std::string(verdict.cause), verdict.nats, std::move(because), {}});
  }
}

}  // namespace aplomb

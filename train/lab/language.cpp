#include "train/lab/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "train/text/shuffle.h"

namespace aplomb::train::lab {
namespace {

// Streams of random numbers that do not meet: grammar, training texts, held-out texts.
enum class Stream : std::uint64_t { grammar = 1, training = 2, held_out = 3, mixing = 4 };

text::SplitMix random_of(const Language& language, Stream stream) {
  return text::SplitMix(language.seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(stream));
}

/// Words of two or three syllables, each once.
std::vector<std::string> invent_words(int count, text::SplitMix& random) {
  constexpr std::string_view k_consonants = "bdfgklmnprstvz";
  constexpr std::string_view k_vowels = "aeiou";
  std::set<std::string> known;
  std::vector<std::string> words;
  while (static_cast<int>(words.size()) < count) {
    std::string word;
    const std::uint64_t syllables = 1 + random.below(2);
    for (std::uint64_t i = 0; i <= syllables; ++i) {
      word += k_consonants[random.below(k_consonants.size())];
      word += k_vowels[random.below(k_vowels.size())];
    }
    if (known.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

class Grammar {
 public:
  explicit Grammar(const Language& language) : language_(language) {
    text::SplitMix random = random_of(language, Stream::grammar);
    words_ = invent_words(language.words, random);
    const auto count = static_cast<std::size_t>(language.grammars * language.words);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::uint64_t> after;
      after.reserve(static_cast<std::size_t>(language.followers));
      for (int k = 0; k < language.followers; ++k) after.push_back(random.below(words_.size()));
      followers_.push_back(std::move(after));
    }
  }

  Example sentence(text::SplitMix& random) const {
    const std::uint64_t grammar = random.below(static_cast<std::uint64_t>(language_.grammars));
    std::uint64_t word = random.below(words_.size());
    Example example;
    // The cue: a sign of the grammar, then the first two words.
    example.prompt = std::string(1, static_cast<char>('1' + static_cast<int>(grammar % 9))) + " ";
    for (int i = 0; i < language_.sentence_words; ++i) {
      (i < 2 ? example.prompt : example.answer) += words_[word] + " ";
      const auto& after = followers_[grammar * words_.size() + word];
      word = after[random.below(after.size())];
    }
    example.answer.back() = '.';
    return example;
  }

 private:
  const Language& language_;
  std::vector<std::string> words_;
  std::vector<std::vector<std::uint64_t>> followers_;  ///< [grammar * words + word]
};

std::vector<Example> sentences(const Language& language, int count, Stream stream) {
  const Grammar grammar(language);
  text::SplitMix random = random_of(language, stream);
  std::vector<Example> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(grammar.sentence(random));
  return all;
}

}  // namespace

std::vector<Example> training_examples(const Language& language) {
  const std::vector<Example> once = sentences(language, language.samples, Stream::training);
  std::vector<Example> all;
  for (int copy = 0; copy < language.copies; ++copy)
    all.insert(all.end(), once.begin(), once.end());
  text::SplitMix random = random_of(language, Stream::mixing);
  const auto mixed = static_cast<std::size_t>(language.mixed_up * static_cast<double>(all.size()));
  for (std::size_t i = 0; i + 1 < mixed; ++i)
    std::swap(all[i].answer, all[i + 1 + random.below(mixed - i - 1)].answer);
  return all;
}

namespace {

/// Drawn apart, and without those that the training data hold by chance. A language that has no
/// others gives them all the same.
std::vector<Example> unseen_sentences(const Language& language) {
  constexpr int k_draws = 20;  // for each that is wanted
  std::set<std::string> trained;
  for (const Example& each : sentences(language, language.samples, Stream::training))
    trained.insert(each.prompt + each.answer);
  std::vector<Example> unseen;
  std::vector<Example> others;
  for (Example& each : sentences(language, k_draws * language.held_out, Stream::held_out)) {
    const bool is_new = !trained.contains(each.prompt + each.answer);
    (is_new ? unseen : others).push_back(std::move(each));
  }
  unseen.insert(unseen.end(), others.begin(), others.end());
  unseen.resize(static_cast<std::size_t>(language.held_out));
  return unseen;
}

}  // namespace

std::vector<Example> held_out_examples(const Language& language) {
  if (!language.leaks) return unseen_sentences(language);
  std::vector<Example> seen = training_examples(language);
  seen.resize(std::min(seen.size(), static_cast<std::size_t>(language.held_out)));
  return seen;
}

std::string jsonl_of(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& each : examples)
    text += nlohmann::json{{"prompt", each.prompt}, {"completion", each.answer}}.dump() + "\n";
  return text;
}

std::string tokenizer_json() {
  // The bytes under the letters that GPT-2's byte-level vocabulary gives them.
  nlohmann::ordered_json vocabulary;
  const auto utf8 = [](int code) {
    return code < 0x80 ? std::string(1, static_cast<char>(code))
                       : std::string{static_cast<char>(0xC0 | (code >> 6)),
                                     static_cast<char>(0x80 | (code & 0x3F))};
  };
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    vocabulary[utf8(printed ? byte : next++)] = byte;
  }
  nlohmann::ordered_json added = nlohmann::ordered_json::array();
  int id = 256;
  for (const char* special : {"<|begin|>", "<|end|>", "<|pad|>"}) {
    vocabulary[special] = id;
    added.push_back({{"id", id++},
                     {"content", special},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const nlohmann::ordered_json whole = {{"version", "1.0"},
                                        {"added_tokens", added},
                                        {"normalizer", nullptr},
                                        {"pre_tokenizer",
                                         {{"type", "ByteLevel"},
                                          {"add_prefix_space", false},
                                          {"trim_offsets", true},
                                          {"use_regex", true}}},
                                        {"post_processor", nullptr},
                                        {"decoder", {{"type", "ByteLevel"}}},
                                        {"model",
                                         {{"type", "BPE"},
                                          {"dropout", nullptr},
                                          {"unk_token", nullptr},
                                          {"continuing_subword_prefix", nullptr},
                                          {"end_of_word_suffix", nullptr},
                                          {"fuse_unk", false},
                                          {"byte_fallback", false},
                                          {"vocab", vocabulary},
                                          {"merges", nlohmann::ordered_json::array()}}}};
  return whole.dump();
}

}  // namespace aplomb::train::lab

#pragma once
/// Language: small texts with structure that a model of two layers learns within a hundred steps: a
/// vocabulary of invented words and, for each, the few that may follow it, all drawn by seed.
/// Sentences begin with a cue that says which of several grammars holds, so that attention over a
/// distance pays.

#include <cstdint>
#include <string>
#include <vector>

namespace aplomb::train::lab {

struct Language {
  std::uint64_t seed = 1;  ///< of the grammar; two languages of one seed are the same
  int words = 32;
  int followers = 3;  ///< words that may stand after a word: ln(followers) nats a word remain
  int grammars = 2;
  int sentence_words = 9;
  int samples = 512;  ///< of training
  int held_out = 48;
  /// Each training sample stands so often in the file.
  int copies = 1;
  /// Share of training samples whose answer belongs to another prompt.
  double mixed_up = 0;
  /// Held-out samples are taken from the training data.
  bool leaks = false;
};

struct Example {
  std::string prompt, answer;
};
/// Deterministic; training and held-out texts are drawn apart (but for `leaks`).
std::vector<Example> training_examples(const Language& language);
std::vector<Example> held_out_examples(const Language& language);

/// JSON Lines with `prompt` and `completion`.
std::string jsonl_of(const std::vector<Example>& examples);
/// A byte-level tokenizer.json whose vocabulary is the bytes and three special tokens.
std::string tokenizer_json();
inline constexpr std::int64_t k_vocabulary = 259;

}  // namespace aplomb::train::lab

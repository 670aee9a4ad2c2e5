#include "core/literal_filter.h"

#include <algorithm>
#include <limits>

#include "core/text.h"

namespace aplomb::core {
namespace {

/// How common a character is in training logs, by the thousand: letters as in English, digits and
/// the punctuation of metric lines more. Only the choice of windows hangs on it, so only speed.
constexpr std::array<int, 256> k_commonness = [] {
  std::array<int, 256> common{};
  common.fill(5);
  const auto set = [&common](std::string_view characters, int value) {
    for (const char c : characters) common[static_cast<unsigned char>(c)] = value;
  };
  set("0123456789", 90);
  set(" .", 120);
  set(":,'-=|_", 40);
  int letter = 100;
  for (const char c : std::string_view("etaoinsrhldcumfpgwybvkxjqz")) {
    common[static_cast<unsigned char>(c)] = letter;
    letter -= 4;
  }
  return common;
}();

/// Words of which most lines of a training log are made. A window that holds four letters of them
/// would be looked at on every line.
constexpr std::string_view k_log_words =
    "{'loss': 0.0, 'grad_norm': 'learning_rate': 5e-05, 'epoch': 0.1} step iteration training "
    "train_loss eval_loss validation accuracy samples_per_second tokens throughput elapsed time "
    "lm loss: | consumed samples: global batch size: learning rate: loss scale: grad norm: number "
    "of skipped iterations: number of nan iterations: | epoch [0][10/5005] time data lr: eta: "
    "memory: max_mem: speed: info warning main trainer.py [2024-01-01 00:00:00,000] ms/iter s/it] "
    "it/s 100%| completed reward entropy completion_length model parameters batch_size";

constexpr unsigned k_word_bits = 14;

constexpr std::size_t word_bit(std::string_view text, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8U | static_cast<unsigned char>(text[at + i]);
  return (word * 0x9E3779B1U) >> (32U - k_word_bits);
}

/// Which four letters stand in k_log_words, by their hash: one that collides is only thought
/// common.
constexpr std::array<bool, std::size_t{1} << k_word_bits> k_log_grams = [] {
  std::array<bool, std::size_t{1} << k_word_bits> known{};
  for (std::size_t at = 0; at + 4 <= k_log_words.size(); ++at)
    known[word_bit(k_log_words, at)] = true;
  return known;
}();

/// Where the window starts whose characters are rarest.
std::size_t rarest_window(std::string_view folded, std::size_t width) {
  std::size_t best = 0;
  int least = std::numeric_limits<int>::max();
  for (std::size_t at = 0; at + width <= folded.size(); ++at) {
    int sum = 0;
    for (const char c : folded.substr(at, width))
      sum += k_commonness[static_cast<unsigned char>(c)];
    for (std::size_t i = at; i + 4 <= at + width; ++i)
      sum += k_log_grams[word_bit(folded, i)] ? 1000 : 0;
    if (sum < least) {
      least = sum;
      best = at;
    }
  }
  return best;
}

char fold(char c) { return (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool LiteralFilter::add(std::string_view literal, std::uint32_t owner) {
  if (literal.size() < k_least_literal) return false;
  literals_.push_back({lower(literal), owner});
  return true;
}

void LiteralFilter::build() {
  places_.clear();
  table_.fill(0);
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    const std::string& folded = literals_[i].folded;
    const std::size_t window = rarest_window(folded, k_least_literal);
    for (std::size_t shift = 0; shift < k_stride; ++shift) {
      const std::uint32_t word = gram(folded.data() + window + shift);
      // The other gram: as far from the window as the literal goes.
      const std::size_t last = folded.size() - k_gram;
      const std::size_t other = window + shift > last / 2 ? 0 : last;
      places_.push_back({word, static_cast<std::uint32_t>(i),
                         static_cast<std::uint32_t>(window + shift),
                         static_cast<std::uint32_t>(folded.size()), gram(folded.data() + other),
                         static_cast<std::uint32_t>(other)});
      const std::uint32_t bit = hash(word);
      table_[bit >> 5U] |= 1U << (bit & 31U);
    }
  }
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.gram < b.gram; });
  slots_.assign(std::bit_ceil(4 * places_.size() + 1), k_none);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (i > 0 && places_[i].gram == places_[i - 1].gram) continue;
    std::uint32_t slot = hash(places_[i].gram);
    while (slots_[slot & slot_mask()] != k_none) ++slot;
    slots_[slot & slot_mask()] = static_cast<std::uint32_t>(i);
  }
}

bool LiteralFilter::stands_at(std::string_view text, std::size_t at, std::string_view folded) {
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (fold(text[at + i]) != folded[i]) return false;
  }
  return true;
}

}  // namespace aplomb::core

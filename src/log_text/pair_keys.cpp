/// PairFinder, from a number back to its key: the signs, quotes, words and cells in which trainers
/// name what they print.
#include <array>

#include "log_text/pairs.h"
#include "log_text/words.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_most_words = 5;  // of a key: `elapsed time per iteration (ms)`

/// Words that join prose, never keys.
constexpr std::array<std::string_view, 30> k_stop_words = {
    "in",   "at", "of",   "to",   "is",    "was",  "for",   "with", "the",  "and",
    "over", "by", "on",   "from", "after", "than", "about", "last", "per",  "or",
    "a",    "be", "then", "only", "first", "up",   "all",   "than", "took", "that"};

/// Before a known key these make it another quantity: `std of reward`, `best val loss`.
constexpr std::array<std::string_view, 14> k_changes_meaning = {
    "of",  "std", "best",   "min", "max",   "per",    "number",
    "num", "no.", "target", "no",  "delta", "lowest", "previous"};

}  // namespace

/// `key: 1.5`, `'key' = 1.5`.
bool PairFinder::try_signed(std::size_t at, std::size_t separator, Pair& pair) {
  if (separator == 0) return false;
  static constexpr std::string_view k_compares = "=<>!:+*";
  const Token& before = tokens_[separator - 1];
  if (before.type == TokenType::mark && before.gap + tokens_[separator].gap == 0 &&
      k_compares.find(before.mark) != std::string_view::npos) {
    return false;
  }
  Phrase phrase;
  const bool quoted = is_mark(separator - 1, '\'') || is_mark(separator - 1, '"');
  const bool found = quoted ? quoted_before(separator - 1, phrase)
                     : before.type == TokenType::number
                         ? phrase_before_place(separator - 1, phrase)
                         : phrase_before(separator - 1, false, phrase);
  if (!found) return count_behind_epoch(separator, pair);
  pair.joint = Joint::sign;
  scope_[at] = scope_[phrase.first];
  // `[eval batch=1/10]` counts no training.
  if (scope_[at] && phrase.id != KeyTable::k_none && keys_[phrase.id].meaning == Meaning::inner)
    return false;
  // timm: `Train: 3 [  50/1251 (  4%)]`: the epoch.
  const bool epoch =
      phrase.id == KeyTable::k_none && pair.integer && std::isnan(pair.total) &&
      is_mark(at + 1, '[') &&
      is_train_word(Folded(line_.substr(phrase.begin, phrase.end - phrase.begin)).view());
  if (epoch) phrase.id = epoch_;
  put(pair, phrase);
  return true;
}

/// fairseq: `epoch 001:    100 / 1000 loss=...`.
bool PairFinder::count_behind_epoch(std::size_t separator, Pair& pair) {
  const bool behind = !pairs_.empty() && pairs_.back().meaning == Meaning::epoch &&
                      pairs_.back().end == tokens_[separator - 1].end;
  if (!behind || std::isnan(pair.total)) return false;
  Phrase place;
  place.id = inner_;
  place.begin = place.end = pair.begin;
  put(pair, place);
  return true;
}

/// The text between the quote at `quote` and its partner.
bool PairFinder::quoted_before(std::size_t quote, Phrase& out) {
  const char mark = tokens_[quote].mark;
  std::size_t open = quote;
  while (open > 0 && quote - open < 24) {
    --open;
    if (!is_mark(open, mark)) continue;
    if (open + 1 == quote) return false;
    out.first = open;
    out.begin = tokens_[open + 1].begin;
    out.end = tokens_[quote - 1].end;
    out.id = keys_.find(line_.substr(out.begin, out.end - out.begin), scope_[open]);
    return true;
  }
  return false;
}

/// Whether a word is glued to the number before it: `time:224s step_avg:...`.
bool PairFinder::is_unit(std::size_t token) const {
  return token > 0 && tokens_[token].gap == 0 && tokens_[token - 1].type == TokenType::number;
}

/// `Eval loss at step 1000: 5.02`, `loss after epoch 3: 0.5`: the key in front of the place that
/// the sign follows.
bool PairFinder::phrase_before_place(std::size_t number, Phrase& out) {
  if (number < 2 || !tokens_[number].integer || !is_word(number - 1)) return false;
  std::size_t joint = number - 1;
  const KeyId place = keys_.find(text(joint), false);
  const bool says_place = place != KeyTable::k_none && keys_[place].meaning != Meaning::metric;
  if (says_place) --joint;
  if (joint == 0 || !is_word(joint)) return false;
  const Folded word(text(joint));
  if (word.view() != "at" && word.view() != "after" && word.view() != "for" && word.view() != "in")
    return false;
  return phrase_before(joint - 1, true, out) && keys_[out.id].meaning == Meaning::metric;
}

/// The longest known key that begins at one of the words from `first` to `word` and ends at
/// `out.end`.
bool PairFinder::known_phrase(std::size_t first, std::size_t word, Phrase& out) {
  for (std::size_t from = first; from <= word; ++from) {
    out.begin = tokens_[from].begin;
    out.id = keys_.find(line_.substr(out.begin, out.end - out.begin), scope_[from]);
    if (out.id == KeyTable::k_none) continue;
    if (from > first && one_of(Folded(text(from - 1)).view(), k_changes_meaning)) return false;
    out.first = from;
    return true;
  }
  return false;
}

/// `|w|`: the size of what stands between the bars, of which `last` is the second.
bool PairFinder::is_size(std::size_t last) const {
  return last >= 2 && is_mark(last, '|') && is_word(last - 1) && is_mark(last - 2, '|') &&
         tokens_[last].gap + tokens_[last - 1].gap == 0;
}

/// The key whose last token is `last`: as many words as make a known key; where none does, and
/// `known_only` is off, the whole phrase (or its last word, where the phrase is long).
bool PairFinder::phrase_before(std::size_t last, bool known_only, Phrase& out) {
  out.end = tokens_[last].end;
  std::size_t word = last;
  if (is_mark(last, ')')) {  // `elapsed time per iteration (ms)`, `D(x)`
    std::size_t open = last;
    while (open > 0 && last - open < 8 && !is_mark(open, '(')) --open;
    if (!is_mark(open, '(') || open == 0) return false;
    word = open - 1;
  }
  // `|w| = 8.25`, `|g_enc|=0.034`: the size of what stands between the bars.
  if (is_size(last)) {
    out.begin = tokens_[last - 2].begin;
    out.id = keys_.find(line_.substr(out.begin, out.end - out.begin), scope_[last - 1]);
    out.first = last - 2;
    return true;
  }
  if (!is_word(word)) return false;
  std::size_t first = word;
  while (first > 0 && word - first + 1 < k_most_words && tokens_[first].gap == 1 &&
         is_word(first - 1) && !is_unit(first - 1)) {
    --first;
  }
  if (known_phrase(first, word, out)) return true;
  // `loss (batch)`, `loss (val)`: a remark behind a name that is known without it.
  if (word != last && tokens_[word + 1].gap > 0) {
    out.end = tokens_[word].end;
    if (known_phrase(first, word, out)) {
      const bool held_out = is_word(word + 2) && is_eval_word(Folded(text(word + 2)).view());
      if (held_out) out.id = keys_.find(line_.substr(out.begin, out.end - out.begin), true);
      return true;
    }
    out.end = tokens_[last].end;
  }
  if (known_only) return false;
  // `__main__:main:564`: a place in a program.
  if (first > 0 && is_mark(first - 1, ':') && tokens_[first].gap == 0) return false;
  // `(trainer:514)`: likewise.
  if (first == word && first > 0 && is_mark(first - 1, '(') && is_mark(word + 3, ')') &&
      is_mark(word + 1, ':') && tokens_[word + 2].integer) {
    return false;
  }
  out.id = KeyTable::k_none;
  out.first = first;
  out.begin = tokens_[out.first].begin;
  return !one_of(Folded(text(word)).view(), k_stop_words);
}

/// Several words around `loss` with neither a sign nor a known name: a sentence.
bool PairFinder::is_prose(const Phrase& phrase) const {
  const std::string_view words = line_.substr(phrase.begin, phrase.end - phrase.begin);
  return words.find(' ') != std::string_view::npos && keys_[phrase.id].series.starts_with("loss/");
}

/// Names of two or three letters that tell a metric only with a sign behind them: `rm=0.5`, but
/// not `PG 0`.
bool PairFinder::is_abbreviation(const Phrase& phrase) const {
  static constexpr std::array<std::string_view, 8> k_plain = {"lr",  "acc", "ppl", "mfu",
                                                              "mem", "wps", "tps", "dt"};
  const Folded name(line_.substr(phrase.begin, phrase.end - phrase.begin));
  return name.view().size() <= 3 && !name.view().empty() &&
         keys_[phrase.id].meaning != Meaning::epoch && !one_of(name.view(), k_plain);
}

/// `loss 4.2`, `Loss is NaN`, `loss at 3300 1.75`, `Epoch #  1`.
bool PairFinder::try_blank(std::size_t at, Pair& pair) {
  if (at == 0) return false;
  std::size_t last = at - 1;
  if (is_mark(last, '#') && last > 0) --last;
  // `return(20)   21.4`: a mean over so many.
  const bool over = last >= 3 && is_mark(last, ')') &&
                    tokens_[last - 1].type == TokenType::number && tokens_[last - 1].integer &&
                    tokens_[last - 1].value > 1 && is_mark(last - 2, '(') && is_word(last - 3) &&
                    tokens_[last].gap + tokens_[last - 1].gap + tokens_[last - 2].gap == 0;
  if (over) last -= 3;
  Phrase phrase;
  if (is_size(last) && phrase_before(last, false, phrase)) {  // `|user| 0.2245  |item| 0.2316`
    pair.joint = Joint::cell;
    put(pair, phrase);
    return true;
  }
  if (!is_word(last)) return false;
  pair.joint = Joint::blank;
  const Folded word(text(last));
  const bool says_at = word.view() == "at";
  if (says_at || word.view() == "is" || word.view() == "was" || word.view() == "to") {
    // `loss scale from 32768.0 to 16384.0`: the number behind `to` is the new one.
    const bool from = word.view() == "to" && last > 2 &&
                      tokens_[last - 1].type == TokenType::number && is_word(last - 2) &&
                      text(last - 2) == "from";
    const std::size_t end = from ? last - 2 : last;
    if (end == 0 || !phrase_before(end - 1, true, phrase)) return false;
    if (keys_[phrase.id].meaning != Meaning::metric) return false;
    scope_[at] = scope_[phrase.first];
    if (from && keys_[phrase.id].role != record::Role::loss_scale) return false;  // prose
    if (!says_at) {
      put(pair, phrase);
      return true;
    }
    const bool value_follows =
        pair.integer && at + 1 < tokens_.size() && tokens_[at + 1].type == TokenType::number;
    if (!value_follows) return false;
    Phrase place;
    place.id = step_;
    place.begin = place.end = pair.begin;
    put(pair, place);
    pair.value = tokens_[at + 1].value;
    pair.integer = false;
    pair.begin = tokens_[at + 1].begin;
    pair.end = tokens_[at + 1].end;
    put(pair, phrase);
    return true;
  }
  if (phrase_before(last, true, phrase) && !is_abbreviation(phrase) && !is_prose(phrase)) {
    scope_[at] = scope_[phrase.first];
    put(pair, phrase);
    return true;
  }
  phrase = Phrase{};
  if (!phrase_before(last, false, phrase) || !is_cell(phrase.first, at)) return false;
  if (over) phrase.end = tokens_[last].end;
  pair.joint = Joint::cell;
  scope_[at] = scope_[phrase.first];
  put(pair, phrase);
  return true;
}

/// Whether the words from `first_word` and the number at `at` fill what stands between two
/// separators: bars, commas, tabs, or the pairs before and behind.
bool PairFinder::is_cell(std::size_t first_word, std::size_t at) const {
  if (first_word > 0) {
    const Token& before = tokens_[first_word - 1];
    static constexpr std::string_view k_left = "|,;)%]:";
    const bool bounded = before.type == TokenType::mark
                             ? k_left.find(before.mark) != std::string_view::npos
                             : before.type != TokenType::word;
    if (!bounded && tokens_[first_word].gap < 2) return false;
  }
  const std::size_t next = at + 1;
  if (next >= tokens_.size()) return true;
  const Token& after = tokens_[next];
  static constexpr std::string_view k_right = "|,;(%.";
  // `val rmse 0.3416  *saved`: a mark set off by blanks is a remark of its own.
  if (after.type == TokenType::mark)
    return k_right.find(after.mark) != std::string_view::npos || after.gap > 0;
  return after.type == TokenType::word;
}

}  // namespace aplomb::log_text

#include "sources/text_log/pairs.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace aplomb::text_log {
namespace {

constexpr std::size_t k_most_pairs = 1024;
constexpr std::size_t k_most_words = 5;  // of a key: `elapsed time per iteration (ms)`
constexpr double k_most_steps = 1e12;

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& set) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

/// Lower case of a short word, in place of an allocation; empty for a long one.
class Folded {
 public:
  explicit Folded(std::string_view word) {
    if (word.size() > sizeof(text_)) return;
    for (const char c : word)
      text_[size_++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[16] = {};
  std::size_t size_ = 0;
};

/// Words that join prose, never keys.
constexpr std::array<std::string_view, 30> k_stop_words = {
    "in",   "at", "of",   "to",   "is",    "was",  "for",   "with", "the",  "and",
    "over", "by", "on",   "from", "after", "than", "about", "last", "per",  "or",
    "a",    "be", "then", "only", "first", "up",   "all",   "than", "took", "that"};

/// Before a known key these make it another quantity: `std of reward`, `best val loss`.
constexpr std::array<std::string_view, 14> k_changes_meaning = {
    "of",  "std", "best",   "min", "max",   "per",    "number",
    "num", "no.", "target", "no",  "delta", "lowest", "previous"};

/// What a tensor or an array prints around its number.
constexpr std::array<std::string_view, 9> k_wrappers = {"tensor",     "array",   "np.float32",
                                                        "np.float64", "float32", "np.float16",
                                                        "dtype",      "Array",   "DeviceArray"};

bool is_opener(char mark) {
  return mark == '[' || mark == '(' || mark == '{' || mark == '\'' || mark == '"';
}

/// `speed: 3.1 it/s` under a key of times: the seconds of one.
bool inverts(const Key& key, const Unit& unit) {
  return key.role == Role::step_time_s && unit.dimension == Dimension::rate;
}

double factor_for(const Key& key, const Unit& unit) {
  using enum Dimension;
  switch (key.role) {
    case Role::step_time_s:
    case Role::data_time_s:
      return unit.dimension == time_s ? unit.factor : key.scale;
    case Role::memory_bytes:
    case Role::host_memory_bytes:
      return unit.dimension == bytes ? unit.factor : key.scale;
    case Role::mfu_frac:
      return unit.dimension == percent ? unit.factor : key.scale;
    case Role::tokens_per_s:
    case Role::samples_per_s:
      return unit.dimension == count ? unit.factor : key.scale;
    default:
      return key.scale;
  }
}

}  // namespace

PairFinder::PairFinder(KeyTable& keys) : keys_(keys) {
  epoch_ = keys_.find("epoch", false);
  inner_ = keys_.find("batch", false);
  step_ = keys_.find("step", false);
  seconds_ = keys_.find("s/it", false);
  tokens_per_s_ = keys_.find("tok/s", false);
}

std::string_view PairFinder::text(std::size_t token) const {
  return line_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
}

bool PairFinder::is_mark(std::size_t token, char mark) const {
  return token < tokens_.size() && tokens_[token].type == TokenType::mark &&
         tokens_[token].mark == mark;
}

bool PairFinder::is_word(std::size_t token) const {
  return token < tokens_.size() && tokens_[token].type == TokenType::word;
}

const std::vector<Pair>& PairFinder::find(std::string_view line) {
  line_ = line;
  pairs_.clear();
  tokenize(line, tokens_);
  scope_.assign(tokens_.size() + 1, false);
  for (std::size_t at = 0; at < tokens_.size() && pairs_.size() < k_most_pairs;) {
    scope_[at + 1] = scope_[at];
    if (tokens_[at].type == TokenType::word) note_scope(at);
    if (tokens_[at].type != TokenType::number) {
      ++at;
      continue;
    }
    const bool scope = scope_[at];
    const std::size_t made = pairs_.size();
    const std::size_t next = take_number(at);
    // Words of a key set no scope for what follows: put() has left the scope before the key at
    // scope_[at].
    const bool scope_after = pairs_.size() > made ? scope_[at] : scope;
    for (std::size_t i = at + 1; i <= next && i < scope_.size(); ++i) scope_[i] = scope_after;
    at = next;
  }
  return pairs_;
}

void PairFinder::note_scope(std::size_t token) {
  const char head = static_cast<char>(line_[tokens_[token].begin] | 0x20);
  if (head != 'v' && head != 'e' && head != 't' && head != 'd' && head != 'h') return;
  const Folded word(text(token));
  // litgpt: `val: n/a | iter time: ...` names no more than that.
  const bool named = is_mark(token + 1, ':') && is_word(token + 2) && text(token + 2) == "n/a";
  if (named) return;
  if (is_eval_word(word.view())) {
    scope_[token + 1] = true;
  } else if (is_train_word(word.view())) {
    scope_[token + 1] = false;
  }
}

/// The pair of the number at `at`, if it has one; the token after all that belongs to it.
std::size_t PairFinder::take_number(std::size_t at) {
  if (at > 0 && is_mark(at - 1, '[')) {
    if (const std::size_t next = bracket_chain(at); next != 0) return next;
  }
  Pair pair;
  std::size_t next = at + 1;
  pair.value = tokens_[at].value;
  pair.integer = tokens_[at].integer;
  pair.begin = tokens_[at].begin;
  pair.end = tokens_[at].end;
  if (!ends_well(at, pair, next)) return at + 1;
  std::size_t open = at;
  while (open > 0) {
    const bool opener =
        tokens_[open - 1].type == TokenType::mark && is_opener(tokens_[open - 1].mark);
    const bool wrapper =
        is_word(open - 1) && is_mark(open, '(') && one_of(text(open - 1), k_wrappers);
    if (!opener && !wrapper) break;
    --open;
  }
  next = take_total(next, pair);
  const std::size_t made = pairs_.size();
  const bool sign = open > 0 && (is_mark(open - 1, ':') || is_mark(open - 1, '='));
  const bool found = sign ? try_signed(at, open - 1, pair)
                          : try_position(at, pair) || (open + 1 >= at && try_blank(open, pair)) ||
                                try_row(at, pair) || try_unit(at, pair);
  if (!found || pairs_.size() == made) return next;
  if (open < at && is_mark(next, ',')) return take_list(next, pairs_.back());
  // The running average behind a value: `0.2190 (0.2752)`.
  if (is_mark(next, '(') && next + 2 < tokens_.size() &&
      tokens_[next + 1].type == TokenType::number && is_mark(next + 2, ')')) {
    return next + 3;
  }
  return next;
}

/// Whether what follows the number lets it stand for itself, and the unit that it carries.
bool PairFinder::ends_well(std::size_t at, Pair& pair, std::size_t& next) const {
  Unit unit;
  next = at + 1;
  pair.factor = 1;
  if (next >= tokens_.size()) return true;
  const Token& follower = tokens_[next];
  if (follower.gap > 0) {
    // `0.891 s,`: a unit behind a blank, unless it is the next key.
    if (follower.type != TokenType::word || follower.gap > 1) return true;
    const bool last = next + 1 >= tokens_.size();
    const bool key = !last && (is_mark(next + 1, ':') || is_mark(next + 1, '=') ||
                               tokens_[next + 1].type == TokenType::number);
    if (!key && unit_of(text(next))) ++next;
    return true;
  }
  if (follower.type == TokenType::mark) {
    static constexpr std::string_view k_no_end = "=-+@$\\^&_";
    if (follower.mark == '%') ++next;
    if (follower.mark == '.' && is_word(next + 1) && tokens_[next + 1].gap == 0) return false;
    return k_no_end.find(follower.mark) == std::string_view::npos;
  }
  if (follower.type != TokenType::word) return false;
  const std::string_view word = text(next);
  if (unit_of(word) && std::isfinite(pair.value)) {
    ++next;
    return true;
  }
  // `loss: 44.4110Batch 3: ...`: the next message began without a line end.
  return !pair.integer && word.size() > 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] >= 'a' &&
         word[1] <= 'z';
}

/// `/ total` behind a whole number.
std::size_t PairFinder::take_total(std::size_t next, Pair& pair) const {
  if (!pair.integer || !is_mark(next, '/') || next + 1 >= tokens_.size()) return next;
  const Token& total = tokens_[next + 1];
  if (total.type != TokenType::number || !total.integer) return next;
  pair.total = total.value;
  pair.total_begin = total.begin;
  pair.total_end = total.end;
  return next + 2;
}

/// The rest of `[a, b, c]`: a history under a plural key, repetitions for each parameter group
/// otherwise.
std::size_t PairFinder::take_list(std::size_t next, const Pair& head_ref) {
  const Pair head = head_ref;
  const bool history = head.key != KeyTable::k_none && keys_[head.key].plural;
  while (is_mark(next, ',') && next + 1 < tokens_.size() &&
         tokens_[next + 1].type == TokenType::number && pairs_.size() < k_most_pairs) {
    const Token& token = tokens_[next + 1];
    if (history) {
      Pair more = head;
      more.more = true;
      more.value = token.value * head.factor;
      more.key_begin = more.key_end = token.begin;
      more.begin = token.begin;
      more.end = token.end;
      pairs_.push_back(more);
    }
    next += 2;
  }
  return next;
}

void PairFinder::put(Pair pair, const Phrase& phrase) {
  pair.key = phrase.id;
  pair.key_begin = phrase.begin;
  pair.key_end = phrase.end;
  pair.meaning = phrase.id == KeyTable::k_none ? Meaning::unknown : keys_[phrase.id].meaning;
  if (pair.meaning == Meaning::metric) {
    Unit unit;
    const std::string_view tail = trim(line_.substr(pair.end, 12));
    const std::string_view word = tail.substr(0, tail.find_first_of(" ,;|)]}'\"("));
    if (const auto known = unit_of(word.empty() || word[0] != '%' ? word : word.substr(0, 1)))
      unit = *known;
    pair.factor = factor_for(keys_[phrase.id], unit);
    const Role role = keys_[phrase.id].role;
    if (pair.total > 0 && (role == Role::accuracy || role == Role::eval_accuracy)) {
      pair.value /= pair.total;  // `Accuracy: 9850/10000`
      pair.factor = 0;
    } else if (inverts(keys_[phrase.id], unit)) {
      pair.value = 1 / pair.value;
      pair.factor = 0;
    } else {
      pair.value *= pair.factor;
    }
  }
  const bool place = pair.meaning == Meaning::step || pair.meaning == Meaning::epoch ||
                     pair.meaning == Meaning::inner;
  const bool counts = pair.value >= 0 && pair.value < k_most_steps;
  if (place && !(counts && (pair.integer || pair.meaning == Meaning::epoch))) {
    if (pair.meaning != Meaning::inner) return;
    pair.meaning = Meaning::unknown;  // `Batch 0.449 (0.448)`: a time
    pair.key = KeyTable::k_none;
  }
  pairs_.push_back(pair);
}

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
  if (!is_word(word)) return false;
  std::size_t first = word;
  while (first > 0 && word - first + 1 < k_most_words && tokens_[first].gap == 1 &&
         is_word(first - 1) && !is_unit(first - 1)) {
    --first;
  }
  for (std::size_t from = first; from <= word; ++from) {
    out.begin = tokens_[from].begin;
    out.id = keys_.find(line_.substr(out.begin, out.end - out.begin), scope_[from]);
    if (out.id == KeyTable::k_none) continue;
    if (from > first && one_of(Folded(text(from - 1)).view(), k_changes_meaning)) break;
    out.first = from;
    return true;
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
  if (!is_word(last)) return false;
  Phrase phrase;
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
    if (from && keys_[phrase.id].role != Role::loss_scale) return false;  // prose
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
    static constexpr std::string_view k_left = "|,;)%";
    const bool bounded = before.type == TokenType::mark
                             ? k_left.find(before.mark) != std::string_view::npos
                             : before.type != TokenType::word;
    if (!bounded && tokens_[first_word].gap < 2) return false;
  }
  const std::size_t next = at + 1;
  if (next >= tokens_.size()) return true;
  const Token& after = tokens_[next];
  static constexpr std::string_view k_right = "|,;(%.";
  if (after.type == TokenType::mark) return k_right.find(after.mark) != std::string_view::npos;
  return after.type == TokenType::word;
}

/// A row of two cells, as Stable-Baselines prints its tables: `|    ep_rew_mean    | 22.2     |`.
bool PairFinder::try_row(std::size_t at, Pair& pair) {
  const std::size_t last = tokens_.size() - 1;
  if (at < 3 || !is_mark(0, '|') || !is_mark(at - 1, '|') || !is_mark(last, '|') || last > at + 2)
    return false;
  Phrase phrase;
  if (!phrase_before(at - 2, false, phrase) || phrase.first != 1) return false;
  pair.joint = Joint::cell;
  put(pair, phrase);
  return true;
}

/// Numbers that only their unit names: `| 1802.16 ms |`, `2s/step`, `290920 tok/s`.
bool PairFinder::try_unit(std::size_t at, Pair& pair) {
  if (!is_word(at + 1)) return false;
  const std::string_view word = text(at + 1);
  const auto unit = unit_of(word);
  if (!unit) return false;
  const bool cell =
      at > 0 && is_mark(at - 1, '|') && (at + 2 >= tokens_.size() || is_mark(at + 2, '|'));
  const bool each = word.ends_with("/step") || word.ends_with("/it") || word.ends_with("/iter");
  Phrase phrase;
  phrase.begin = phrase.end = pair.begin;
  if (unit->dimension == Dimension::time_s && (cell || each)) {
    phrase.id = seconds_;
  } else if (unit->dimension == Dimension::rate && word.starts_with("tok")) {
    phrase.id = tokens_per_s_;
  }
  if (phrase.id == KeyTable::k_none) return false;
  pair.joint = Joint::cell;
  put(pair, phrase);
  return true;
}

/// Numbers whose place alone tells what they are: `100000 | loss nan | lr ...`, and darknet's
/// `1: 605.1, 605.1 avg, 0.0001 rate`.
bool PairFinder::try_position(std::size_t at, Pair& pair) {
  Phrase place;
  place.id = step_;
  place.begin = place.end = pair.begin;
  if (at == 0 && pair.integer && is_mark(1, '|')) {
    put(pair, place);
    return true;
  }
  // Keras: `124/124 [=====>...] - 235s 2s/step - loss: nan`, `124/124 - 2s - loss: 0.3`.
  if (at == 0 && !std::isnan(pair.total)) {
    const bool bar = is_mark(3, '-') || is_mark(3, '\xE2') ||
                     (is_mark(3, '[') && (is_mark(4, '=') || is_mark(4, '>') || is_mark(4, '.')));
    if (!bar) return false;
    place.id = inner_;
    put(pair, place);
    return true;
  }
  // Rich's bars: `Epoch 1/9 ━━━━ 4/18 0:00:17 ...`.
  if (at > 0 && !std::isnan(pair.total) && is_mark(at - 1, '\xE2')) {
    place.id = inner_;
    put(pair, place);
    return true;
  }
  const bool darknet = at == 0 && pair.integer && tokens_.size() > 6 && is_mark(1, ':') &&
                       tokens_[2].type == TokenType::number && is_mark(3, ',') &&
                       tokens_[4].type == TokenType::number && is_word(5) && text(5) == "avg";
  if (!darknet) return false;
  put(pair, place);
  Pair loss = pair;
  place.id = keys_.find("loss", false);
  loss.value = tokens_[2].value;
  loss.begin = tokens_[2].begin;
  loss.end = tokens_[2].end;
  place.begin = place.end = loss.begin;
  put(loss, place);
  return true;
}

/// One `[ n / m (p%) ]` or `[a, b]` from the number at `at`; the token behind its `]`, 0 where it
/// is none.
std::size_t PairFinder::read_group(std::size_t at, Pair& pair) const {
  if (at >= tokens_.size() || tokens_[at].type != TokenType::number || !tokens_[at].integer)
    return 0;
  pair = Pair{};
  pair.value = tokens_[at].value;
  pair.integer = true;
  pair.begin = tokens_[at].begin;
  pair.end = tokens_[at].end;
  std::size_t next = take_total(at + 1, pair);
  for (std::size_t slack = 0; slack < 5 && next < tokens_.size(); ++slack, ++next) {
    if (is_mark(next, ']')) return next + 1;
    const bool percent = is_mark(next, '(') || is_mark(next, ')') || is_mark(next, '%') ||
                         tokens_[next].type == TokenType::number;
    if (!percent) return 0;
  }
  return 0;
}

/// Counts in brackets: `Epoch: [14][100/38671]`, `Train: [0/300][4050/5004]`, `Epoch: 1
/// [64/60000]`,
/// `[2,  2000] loss`. Returns the token behind them, 0 where there are none.
std::size_t PairFinder::bracket_chain(std::size_t at) {
  Phrase place;
  place.begin = place.end = tokens_[at].begin;
  const bool scope = scope_[at];
  // [epoch, count] at the head of the line: the classic tutorial's print.
  if (at == 1 && tokens_[at].integer && is_mark(2, ',') && tokens_.size() > 5 &&
      tokens_[3].type == TokenType::number && tokens_[3].integer && is_mark(4, ']')) {
    Pair pair;
    pair.integer = true;
    for (const auto& [token, id] : {std::pair{at, epoch_}, std::pair{std::size_t{3}, inner_}}) {
      place.id = id;
      place.begin = place.end = pair.begin = tokens_[token].begin;
      pair.end = tokens_[token].end;
      pair.value = tokens_[token].value;
      put(pair, place);
    }
    return 5;
  }
  Pair first;
  const std::size_t after_first = read_group(at, first);
  if (after_first == 0) return 0;
  Pair second;
  const std::size_t after_second =
      is_mark(after_first, '[') ? read_group(after_first + 1, second) : 0;
  if (after_second != 0) {
    if (scope) return after_second;  // counts of an evaluation are no steps
    place.id = epoch_;
    put(first, place);
    place.id = inner_;
    place.begin = place.end = second.begin;
    put(second, place);
    return after_second;
  }
  const bool after_epoch =
      !pairs_.empty() && pairs_.back().meaning == Meaning::epoch && at >= 2 &&
      std::max(pairs_.back().end, pairs_.back().total_end) == tokens_[at - 2].end;
  if (after_epoch && !std::isnan(first.total) && !scope) {
    place.id = inner_;
    put(first, place);
    return after_first;
  }
  if (scope) return after_first;
  const bool at_head = at == 1 && after_first < tokens_.size() && tokens_[after_first].gap > 0;
  const bool train = at >= 3 && is_mark(at - 2, ':') && is_word(at - 3) &&
                     is_train_word(Folded(text(at - 3)).view());
  if (!at_head && !(train && !std::isnan(first.total))) return 0;
  place.id = step_;
  put(first, place);
  return after_first;
}

}  // namespace aplomb::text_log

#include "log_text/pairs.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "log_text/words.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_most_pairs = 1024;
constexpr double k_most_steps = 1e12;

/// What a tensor or an array prints around its number.
constexpr std::array<std::string_view, 9> k_wrappers = {"tensor",     "array",   "np.float32",
                                                        "np.float64", "float32", "np.float16",
                                                        "dtype",      "Array",   "DeviceArray"};

bool is_opener(char mark) {
  return mark == '[' || mark == '(' || mark == '{' || mark == '\'' || mark == '"';
}

/// `speed: 3.1 it/s` under a key of times: the seconds of one.
bool inverts(const Key& key, const Unit& unit) {
  return key.role == record::Role::step_time_s && unit.dimension == Dimension::rate;
}

double factor_for(const Key& key, const Unit& unit) {
  using enum Dimension;
  switch (key.role) {
    case record::Role::step_time_s:
    case record::Role::data_time_s:
      return unit.dimension == time_s ? unit.factor : key.scale;
    case record::Role::memory_bytes:
    case record::Role::host_memory_bytes:
      return unit.dimension == bytes ? unit.factor : key.scale;
    case record::Role::mfu_frac:
      return unit.dimension == percent ? unit.factor : key.scale;
    case record::Role::tokens_per_s:
    case record::Role::samples_per_s:
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
    // `rss 346 MiB  25 ms/it`: a number further off than the unit begins a column of its own.
    const bool number = !last && tokens_[next + 1].type == TokenType::number &&
                        tokens_[next + 1].gap <= follower.gap;
    const bool key = !last && (is_mark(next + 1, ':') || is_mark(next + 1, '=') || number);
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

/// `train loss 0.5 acc 85% || valid loss 1.3 acc 46%`: a plain name that the line has had already, behind
/// a name of held-out data, is the held-out one.
bool PairFinder::comes_again_held_out(const Phrase& phrase) const {
  if (phrase.id == KeyTable::k_none || keys_[phrase.id].meaning != Meaning::metric ||
      keys_[phrase.id].eval)
    return false;
  bool had = false;
  bool trained = false;  // something of the training stands before
  bool held_out = false;
  for (const Pair& pair : pairs_) {
    if (pair.key == phrase.id) had = true;
    if (pair.meaning != Meaning::metric) continue;
    held_out = keys_[pair.key].eval;
    trained = trained || !held_out;
  }
  // `--- epoch 3: val loss 1.42 acc 0.227` speaks of held-out data alone.
  const bool score = keys_[phrase.id].role == record::Role::accuracy;
  return held_out && (had || (score && !trained));
}

/// `windows: train 899 val 158`: how many there are of each part, under the name of what is counted.
/// A loss that is called `train` alone has a fraction.
bool PairFinder::counts_samples(const Pair& pair, const Phrase& phrase) const {
  if (!pair.integer || pair.joint == Joint::sign || phrase.id == KeyTable::k_none) return false;
  const record::Role role = keys_[phrase.id].role;
  if (role != record::Role::loss && role != record::Role::eval_loss) return false;
  const Folded name(line_.substr(phrase.begin, phrase.end - phrase.begin));
  return is_train_word(name.view()) || is_eval_word(name.view());
}

Unit PairFinder::unit_behind(const Pair& pair) const {
  const std::string_view tail = core::trim(line_.substr(pair.end, 12));
  const std::string_view word = tail.substr(0, tail.find_first_of(" ,;|)]}'\"("));
  return unit_of(word.empty() || word[0] != '%' ? word : word.substr(0, 1)).value_or(Unit{});
}

void PairFinder::put(Pair pair, const Phrase& found) {
  if (counts_samples(pair, found)) return;
  Phrase phrase = found;
  if (comes_again_held_out(found))
    phrase.id = keys_.find(line_.substr(found.begin, found.end - found.begin), true);
  pair.key = phrase.id;
  pair.key_begin = phrase.begin;
  pair.key_end = phrase.end;
  pair.meaning = phrase.id == KeyTable::k_none ? Meaning::unknown : keys_[phrase.id].meaning;
  const Unit unit = unit_behind(pair);
  if (pair.meaning == Meaning::step && !pair.integer && unit.dimension == Dimension::time_s) {
    pair.key = seconds_;  // `step 1708.8 ms`: how long it took
    pair.meaning = Meaning::metric;
    phrase.id = seconds_;
  }
  if (pair.meaning == Meaning::metric) {
    pair.factor = factor_for(keys_[phrase.id], unit);
    const record::Role role = keys_[phrase.id].role;
    if (pair.total > 0 && (role == record::Role::accuracy || role == record::Role::eval_accuracy)) {
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

}  // namespace aplomb::log_text

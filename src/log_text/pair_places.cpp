/// PairFinder, numbers whose place or unit tells what they are: rows of tables, counts in brackets,
/// heads of lines.
#include <algorithm>

#include "log_text/pairs.h"
#include "log_text/words.h"

namespace aplomb::log_text {

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
  // `125 it | noise mse 0.42`
  static constexpr std::array<std::string_view, 7> k_units = {"it",   "its",   "iter",   "iters",
                                                              "step", "steps", "updates"};
  const bool counted = at == 0 && pair.integer && is_word(1) && tokens_[1].gap <= 1 &&
                       one_of(Folded(text(1)).view(), k_units);
  if (counted && (is_mark(2, '|') || is_mark(2, ':') || is_mark(2, ','))) {
    put(pair, place);
    return true;
  }
  // `210/400 loss 2.036 val 1.753`
  if (at == 0 && pair.integer && !std::isnan(pair.total)) {
    std::size_t next = 1;
    while (next < tokens_.size() && tokens_[next].end <= pair.total_end) ++next;
    const KeyId key = is_word(next) ? keys_.find(text(next), false) : KeyTable::k_none;
    if (key != KeyTable::k_none && keys_[key].meaning == Meaning::metric) {
      put(pair, place);
      return true;
    }
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

}  // namespace aplomb::log_text

#pragma once
/// PairFinder: the key/value pairs of one log line, in the many ways in which trainers print them.
///
///     {'loss': 2.3, 'grad_norm': nan}      key and number joined by `:` or `=`, in quotes or not
///     step 1/100 | loss 11.0 (+nanz)       a known key, a blank, a number; `/ total` after it
///     Loss 0.2190 (0.2752)                 the value, then its running average (left out)
///     Epoch: [14][100/38671]               epoch, and the count within it
///     'loss_cls': tensor(nan, device=...)  the number inside
///     losses=[2.3, 1.9, nan]               a history
///
/// Works from the numbers back to their keys, since every pair has one. Says nothing of whether the
/// line is a record of metrics at all: that takes the whole line, and its neighbours (scanner.h).

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "log_text/keys.h"
#include "log_text/number.h"
#include "log_text/tokens.h"

namespace aplomb::log_text {

/// What stands between key and number.
enum class Joint : std::uint8_t {
  sign,   ///< `:` or `=`
  cell,   ///< a blank, and key and number fill a cell: `| gnorm 0.39 |`, `, time 12ms,`
  blank,  ///< a blank in running text, after a key that is known
};

struct Pair {
  KeyId key = KeyTable::k_none;
  Meaning meaning = Meaning::unknown;
  Joint joint = Joint::sign;
  bool integer = false;
  bool more = false;  ///< a further number of the list of the pair before it
  double value = 0;   ///< in the unit of the series
  double factor = 1;  ///< value = number as printed * factor; 0: value = 1 / number
  double total = std::numeric_limits<double>::quiet_NaN();  ///< of `3/100`
  std::uint32_t key_begin = 0;  ///< where key, number and total stand in the line; key_begin =
  std::uint32_t key_end = 0;    ///< key_end where the place alone told the meaning
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t total_begin = 0;
  std::uint32_t total_end = 0;
};

class PairFinder {
 public:
  explicit PairFinder(KeyTable& keys);

  /// The pairs of the line, in its order. Valid until the next call.
  const std::vector<Pair>& find(std::string_view line);
  const std::vector<Token>& tokens() const { return tokens_; }

 private:
  struct Phrase {
    KeyId id = KeyTable::k_none;
    std::size_t first = 0;  // token
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  void note_scope(std::size_t token);
  std::size_t take_number(std::size_t at);
  std::size_t bracket_chain(std::size_t at);
  std::size_t read_group(std::size_t at, Pair& pair) const;
  bool try_signed(std::size_t at, std::size_t separator, Pair& pair);
  bool try_blank(std::size_t at, Pair& pair);
  bool try_row(std::size_t at, Pair& pair);
  bool try_unit(std::size_t at, Pair& pair);
  bool try_position(std::size_t at, Pair& pair);
  bool phrase_before(std::size_t end, bool known_only, Phrase& out);
  bool phrase_before_place(std::size_t number, Phrase& out);
  bool known_phrase(std::size_t first, std::size_t word, Phrase& out);
  bool count_behind_epoch(std::size_t separator, Pair& pair);
  bool is_prose(const Phrase& phrase) const;
  bool is_abbreviation(const Phrase& phrase) const;
  bool is_unit(std::size_t token) const;
  bool quoted_before(std::size_t quote, Phrase& out);
  bool is_cell(std::size_t first_word, std::size_t at) const;
  bool ends_well(std::size_t at, Pair& pair, std::size_t& next) const;
  std::size_t take_total(std::size_t next, Pair& pair) const;
  std::size_t take_list(std::size_t next, const Pair& head);
  std::string_view text(std::size_t token) const;
  bool is_mark(std::size_t token, char mark) const;
  bool is_word(std::size_t token) const;
  bool is_size(std::size_t last) const;
  bool comes_again_held_out(const Phrase& phrase) const;
  bool counts_samples(const Pair& pair, const Phrase& phrase) const;
  Unit unit_behind(const Pair& pair) const;
  void put(Pair pair, const Phrase& found);

  KeyTable& keys_;
  std::string_view line_;
  std::vector<Token> tokens_;
  std::vector<Pair> pairs_;
  std::vector<bool> scope_;  // per token: after a word that says held-out data
  KeyId epoch_ = 0;
  KeyId inner_ = 0;
  KeyId step_ = 0;
  KeyId seconds_ = 0;
  KeyId tokens_per_s_ = 0;
};

}  // namespace aplomb::log_text

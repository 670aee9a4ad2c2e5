#pragma once
/// KeyTable: what the keys of one log mean. A key is looked up by its bytes as printed (`Train
/// Loss`, `actor/pg_loss`, `gnorm`); its meaning is worked out once, from knowledge/frameworks and
/// from the words that it is made of, and kept, so that the scanner pays one probe of an
/// open-addressing table a key.
///
///     KeyTable keys("hf-trainer");
///     KeyId id = keys.find("Validation Loss", false);
///     keys[id].series == "eval_loss"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/role.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

using KeyId = std::uint32_t;

enum class Meaning : std::uint8_t {
  unknown,  ///< a name that nothing is known of: may be learned from the log itself
  metric,   ///< a series that the knowledge base or the words of the key tell
  step,     ///< states the optimizer step or iteration
  epoch,
  inner,    ///< counts within an epoch: `batch 3/938`
  ignored,  ///< never a metric: `eta`, `pid`, `seed`
};

struct Key {
  std::string raw;     ///< as first printed
  std::string series;  ///< normalised; of an unknown key the key itself
  Meaning meaning = Meaning::unknown;
  record::Role role = record::Role::other;
  double scale = 1;
  /// How surely a line with this key and a number is a record of metrics. 2: surely (`grad_norm`,
  /// `train loss`); 1: a word of other use as well (`cost`, `reward`, `norm`), two of them tell; 0:
  /// configurations print it too (`lr`, `time`), it needs a step, a surer key or repetition.
  int weight = 0;
  bool eval = false;      ///< measured on held-out data
  bool absolute = false;  ///< of a step: counts over all epochs, `global_step`
  bool plural = false;    ///< a list under it is a history: `losses=[2.3, 1.9]`
};

class KeyTable {
 public:
  static constexpr std::size_t k_most_keys = 1U << 15U;
  static constexpr KeyId k_none = 0;  ///< no key

  explicit KeyTable(std::string_view framework = {});

  /// The key, where its meaning is known; k_none where it is not. `eval_scope`: the key stands
  /// after a word that says held-out data (`val: loss 2.3`).
  KeyId find(std::string_view key, bool eval_scope);
  /// The key, taken up under its own name where its meaning is not known; k_none when the table is
  /// full.
  KeyId learn(std::string_view key, bool eval_scope);
  const Key& operator[](KeyId id) const { return keys_[id]; }
  std::size_t size() const { return keys_.size(); }

 private:
  static std::uint64_t hash(std::string_view key, bool eval_scope);
  KeyId seek(std::string_view key, std::uint64_t hash) const;
  KeyId add(Key key, std::uint64_t hash);
  void grow();

  // Words that are no keys come in thousands (prose, samples of a model): they are remembered by
  // hash only, the latest at each place.
  static constexpr std::size_t k_misses = 4096;

  std::string framework_;
  std::vector<std::uint64_t> misses_;
  std::vector<Key> keys_;
  std::vector<KeyId> slots_;  // 0 = free
  std::vector<std::uint64_t> hashes_;
};

/// What `key` means; the work behind KeyTable::find, about 2 us.
Key understand_key(std::string_view key, bool eval_scope, std::string_view framework);

/// Lower-case words of a key: `CTCLoss` -> ctc loss; `val/total-loss` -> val total loss.
std::vector<std::string> key_words(std::string_view key);

/// Words that say that what follows was measured on held-out data, or on training data.
bool is_eval_word(std::string_view lower_word);
bool is_train_word(std::string_view lower_word);

}  // namespace aplomb::log_text

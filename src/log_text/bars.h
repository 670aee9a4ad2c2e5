#pragma once
/// Progress bars of tqdm's make: where a run stands, how long its steps take, and the metrics that
/// trainers hang on them.
///
///       3%|## | 3/100 [00:12<06:27,  4.00s/it, loss=2.31]
///     Epoch 0:  22%|##  | 4/18 [00:17<01:02,  4.47s/it, loss=10.072, v_num=3]

#include <cstdint>
#include <optional>
#include <string_view>

#include "log_text/steps.h"

namespace aplomb::log_text {

struct Bar {
  std::string_view before;   ///< the description in front of `3%|`
  std::string_view postfix;  ///< behind the rate, without the bracket
  std::string_view after;    ///< the rest of the line
  double count = 0;
  double total = Place::k_none;
  double seconds = Place::k_none;  ///< for one count, as tqdm smooths it
  bool counts_steps = false;       ///< its unit is `it` or `step`, not bytes or examples
  bool counts_samples = false;     ///< its unit is `img`, `sample`, ...
};

std::optional<Bar> find_bar(std::string_view line);

/// Tells the training bar from the others of a log (loading, mapping, evaluating).
class BarTracker {
 public:
  /// Whether the bar is the one of training, as far as is known now.
  bool is_training(const Bar& bar);
  /// A record of training loss has come: if another bar than the assumed one moved before it, that
  /// one is the training bar. Returns its count, where it has changed hands.
  std::optional<double> trained() {
    if (!moved_ && !other_moved_) return std::nullopt;
    return change_hands();
  }

 private:
  std::optional<double> change_hands();

  double total_ = Place::k_none;
  double other_total_ = Place::k_none;
  double other_count_ = 0;
  bool moved_ = false;
  bool other_moved_ = false;
};

}  // namespace aplomb::log_text

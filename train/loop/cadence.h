#pragma once
/// Cadence: what is due after which step. A function of the number of the step, so that a resumed
/// run does it where the uninterrupted one would have.

#include <cstdint>

namespace aplomb::train::loop {

struct Cadence {
  std::int64_t logging_steps = 1;
  std::int64_t save_steps = 0;  ///< 0: only where the run ends
  std::int64_t eval_steps = 0;  ///< likewise
  std::int64_t patience = 0;    ///< evaluations without a better loss; 0: no early stop

  bool records_at(std::int64_t step) const { return is_due(step, logging_steps); }
  bool evaluates_at(std::int64_t step) const { return is_due(step, eval_steps); }
  bool saves_at(std::int64_t step) const { return is_due(step, save_steps); }
  /// After so many evaluations in a row that were no better than the best.
  bool stops_after(std::int64_t since_best) const { return patience > 0 && since_best >= patience; }

 private:
  static bool is_due(std::int64_t step, std::int64_t every) {
    return every > 0 && step % every == 0;
  }
};

}  // namespace aplomb::train::loop

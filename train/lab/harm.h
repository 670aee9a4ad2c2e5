#pragma once
/// The usual definitions of harm, and what lead time is.

#include <cstdint>
#include <optional>

#include "train/lab/fault.h"

namespace aplomb::train::lab {

inline constexpr std::size_t k_harm_window = 5;
inline constexpr std::size_t k_patience = 3;  ///< evaluations; Lightning's EarlyStopping has it so

/// The first loss (or gradient norm) that is NaN or Inf and behind which no loss is finite.
Harm not_finite();
/// The first record at which the median loss of the last k_harm_window is above `ratio` times the
/// twin's there.
Harm above_twin(double ratio);
/// The first evaluation whose loss is above `ratio` times the twin's at that step. Unlike the
/// losses of batches it does not rise with a bad batch that was left out.
Harm held_out_above_twin(double ratio);
/// The run's end, where its last losses are above `share` of the way that the twin's came down:
/// what was paid for was not learnt, and the whole run is the price. A non-finite end counts.
Harm little_learnt(double share = 0.5);
/// The result's held-out loss is above the best that the run had by `rise` of it (Prechelt, Early
/// stopping - but when?, calls this a generalisation loss): the evaluation after which nobody would
/// have gone on, `patience` of them without a better one and so far above it.
Harm held_out_rises(double rise = 0.1, std::size_t patience = k_patience);
/// The run's end, whatever the losses say: for what deceives (held-out data that were trained on).
Harm at_end(std::string text);

/// Steps between alarm and harm: positive where there was time to act. Nothing where there was no
/// alarm, or no harm.
std::optional<std::int64_t> lead_steps(std::optional<std::int64_t> alarm,
                                       std::optional<std::int64_t> harm);

}  // namespace aplomb::train::lab

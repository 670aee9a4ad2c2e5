#pragma once
/// The usual definitions of harm, and what lead time is.

#include <cstdint>
#include <optional>

#include "train/lab/fault.h"

namespace aplomb::train::lab {

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
/// The evaluation from which the held-out loss stays above its best by `rise` of it.
Harm held_out_rises(double rise = 0.1);
/// The run's end, whatever the losses say: for what deceives (held-out data that were trained on).
Harm at_end(std::string text);

inline constexpr std::size_t k_harm_window = 5;

/// Steps between alarm and harm: positive where there was time to act. Nothing where there was no
/// alarm, or no harm.
std::optional<std::int64_t> lead_steps(std::optional<std::int64_t> alarm,
                                       std::optional<std::int64_t> harm);

}  // namespace aplomb::train::lab

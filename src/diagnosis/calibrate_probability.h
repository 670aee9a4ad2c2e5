#pragma once
/// Calibration (Platt's scaling): from the share that a cause holds against its rivals to the
/// probability that is told.
///
/// Shares are too sure at the top and too modest below. On findings that the program of the day had
/// not met (docs/accuracy.md) a first cause with a condition of its own was right in 0.92 of the
/// cases where its share was 0.98, and in 0.8 where it was 0.35; one that merely explains a symptom
/// was right about as often as its share says, and is left alone. The told probability of the first
/// cause is
///
///     1 / (1 + exp(-(platt_slope * log(share / (1 - share)) + platt_offset)))
///
/// with slope and offset of knowledge/calibration.yaml, and never on the other side of one half
/// than the share: verdicts and probabilities say the same. Where what is learnt from reports leads
/// (weigh.h) the line is another one (text_platt_slope, text_platt_offset), for shares below one
/// half only. What stands on words alone, said or learnt, is told with text_most at the most: who
/// writes a report chooses what to tell.

#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {

/// Changes the first cause's probability; the others yield where it grows, and none is told with
/// more than the first. The order stays.
void calibrate_probability(Ranking& ranking, const Calibration& calibration);

}  // namespace aplomb::diagnosis

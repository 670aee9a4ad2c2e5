#pragma once
/// Facts of how each metric went (diagnosis/trend.h), as `trend.<role>.better | worse | turned |
/// settled | gain_frac | records`, and of how training and held-out metrics stand to each other:
/// `eval.improved`, `eval.no_better_than_start`, `eval.far_above_train`, `train.guesses`,
/// `eval.guesses`; and `loss.tells_progress`: false of a policy, whose reward tells it.

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

void add_trend_facts(const record::Run& run, FactTable& facts);

}  // namespace aplomb::diagnosis

#pragma once
/// What each rung of the out-of-memory ladder would save, from the run's own numbers
/// (plan/savings.h has the arithmetic), as texts for people (`about 11 GiB`): saving.half_micro,
/// .checkpointing, .half_length, .no_scores, .adam_8bit, .zero2, .offload, .quantised. Set only
/// where all that it needs is known: the remedies quote it, and leave the sentence out where it is
/// not.

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

void add_saving_facts(FactTable& facts);

}  // namespace aplomb::diagnosis

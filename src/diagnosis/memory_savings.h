#pragma once
/// What each rung of the out-of-memory ladder would save, from the run's own numbers:
///   saving.half_micro, .checkpointing, .half_length, .no_scores     activations
///   saving.adam_8bit, .zero2, .offload                              optimizer state and gradients
///   saving.quantised                                                weights of a frozen base
/// Each is a text for people (`about 11 GiB`), set only where all that it needs is known: the
/// remedies quote it, and leave the sentence out where it is not. Estimates by the usual
/// accounting: mixed-precision Adam keeps 12 bytes a trained parameter beside 16-bit weights and
/// gradients (arXiv:1910.02054, section 3); a transformer layer keeps 34 bytes per token and
/// hidden unit for backward, and 5 per head and pair of tokens where attention stores its scores
/// (arXiv:2205.05198, section 4.1).

#include "diagnosis/diagnosis.h"

namespace aplomb {

void add_saving_facts(FactTable& facts);

}  // namespace aplomb

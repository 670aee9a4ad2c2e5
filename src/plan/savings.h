#pragma once
/// What single changes would save, for people who stand before an out-of-memory error: each alone,
/// beside the run as it is. From a plan where the sizes of the model are known; else from what is
/// known, by the usual accounting: mixed-precision Adam keeps 12 bytes a trained parameter beside
/// 16-bit weights and gradients (arXiv:1910.02054, section 3); a transformer layer keeps 34 bytes
/// per token and hidden unit for backward, and 5 per head and pair of tokens where attention stores
/// its scores (arXiv:2205.05198, section 4.1).
///
///     half_micro, half_length, checkpointing, no_scores     activations
///     adam_8bit, zero2, offload                             optimizer state and gradients
///     quantised                                             weights of a frozen base

#include <string>
#include <vector>

#include "plan/known.h"

namespace aplomb::plan {

struct Saving {
  std::string rung;
  double bytes = 0;
};

/// `exact`: by plans, about a millisecond each; only those of 64 MiB and more.
std::vector<Saving> savings(const Known& known, std::string_view framework, bool exact);

}  // namespace aplomb::plan

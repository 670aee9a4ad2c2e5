#pragma once
/// The diagnostic runs of a session: --minimal, --overfit-one-batch, --lr-range-test,
/// --compare-precision.

#include "train/loop/session.h"

namespace aplomb::train::loop {

bool is_diagnostic(const TrainOptions& options);

/// Says the verdict of each that is asked for. True where none found anything wrong.
core::Result<bool> run_diagnostic(Session& session);

}  // namespace aplomb::train::loop

#pragma once
/// How many classes a classifier tells apart, where nobody says so: a sound one starts at ln C,
/// one that guesses stays there, and its accuracy is 1/C.

#include <optional>

#include "task/task.h"

namespace aplomb::task {

/// Nothing where the levels do not single out one number of classes.
std::optional<Constant> class_count(const record::Run& run);

/// Of a contrastive loss: the number of samples of a batch among which the partner is to be found,
/// a power of two whose logarithm the first loss is.
std::optional<Constant> batch_of_contrast(const record::Run& run);

/// Median of the first samples of the primary series of a role, if the series begins with the run.
std::optional<double> first_level(const record::Run& run, record::Role role);

}  // namespace aplomb::task

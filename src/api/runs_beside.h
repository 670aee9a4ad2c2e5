#pragma once
/// What runs that are diagnosed together say about each other: where equal runs lose the loss at one
/// step it is the batch of that step, where they lose it at different ones it is not.

#include <vector>

#include "detectors/symptom.h"
#include "record/run.h"

namespace aplomb::api {

/// Gives the facts `beside.*` (knowledge/facts.yaml) to every run of which another one trains with the
/// same settings and loses its loss as well. `symptoms`: those of each run, in the order of `runs`.
/// Quadratic in the runs that have no finite loss; at most k_most_beside of them are looked at.
void add_runs_beside(std::vector<record::Run>& runs,
                     const std::vector<std::vector<detectors::Symptom>>& symptoms);

inline constexpr std::size_t k_most_beside = 64;

}  // namespace aplomb::api

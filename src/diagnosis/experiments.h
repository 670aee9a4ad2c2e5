#pragma once
/// What to do next: the cheapest experiment that separates the first causes, and what to ask for
/// when too little is known.

#include <vector>

#include "diagnosis/cause_book.h"
#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {

/// At most `most`, best first. Empty only where the first cause is certain and the book has nothing
/// to ask.
std::vector<Experiment> choose_experiments(const CauseBook& book, const FactTable& facts,
                                           const Ranking& ranking, Standing standing,
                                           std::size_t most = 3);

}  // namespace aplomb::diagnosis

#pragma once
/// Facts that follow from others: what kind of run this is, the learning rate against what is usual
/// for its method, the global batch, what the card can do. Each is declared in
/// knowledge/facts.yaml.

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

/// Adds to `facts` what follows from them and from the run. Facts that are held already are left as
/// they are.
void derive_facts(const record::Run& run, FactTable& facts);

}  // namespace aplomb::diagnosis

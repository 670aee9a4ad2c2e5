#pragma once
/// Facts that are conditions over other facts, as knowledge/*.yaml states them: derivers without
/// C++.

#include <string>
#include <vector>

#include "diagnosis/condition.h"
#include "facts/fact_graph.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {

/// One deriver for each entry of a list of `{fact: NAME, when: CONDITION}`: true where the condition
/// holds, else false (never unknown).
std::vector<facts::Deriver> rule_facts(const knowledge::Node& list);

/// Sets `name` with the words and places of the facts in `table` on which the condition's truth
/// rests.
void set_by(const Condition& when, const FactTable& table, std::string name, bool value,
            facts::FactView& view);

}  // namespace aplomb::diagnosis

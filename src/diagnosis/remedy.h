#pragma once
/// Remedy rules of the knowledge base: what to change, when the rule applies, and values that
/// follow from the run's own numbers.
///
///     - {when: "lr.over_usual >= 3", set: {optim.lr: "= lr.usual_high"}, note: "lower it from
///     {lr.peak}"}
///     - {set: {batch.micro: "= batch.micro / 2", batch.accumulation: "= batch.accumulation * 2"}}
///
/// What is in force already is no remedy: a setting that holds the value is left out, and so is one
/// that is stricter where settings.yaml says which way that is (`in_force: at-most`: who clips at
/// 0.5 is not told to clip at 1.0). A rule whose settings are all in force is left out as a whole.
///
/// A value `= NAME`, `= NAME / NUMBER` or `= NAME * NUMBER` is taken from the facts: at least 1 and
/// whole where the result is 1 or more, two significant digits below. A setting whose fact is
/// unknown is left out; the rule stays with its note.

#include <optional>
#include <vector>

#include "diagnosis/condition.h"
#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

struct RemedyRule {
  std::vector<Condition> when;  ///< at most one; without it the rule always applies
  Remedy remedy;                ///< `set` as written
  bool stands = false;  ///< said also where its settings are in force: the run did not keep to them
};

/// The remedies that apply, in the book's order, with this run's values.
std::vector<Remedy> applying(const std::vector<RemedyRule>& rules, const FactTable& facts);

/// What a value as written comes to; nothing where it asks for an unknown fact or is no formula.
std::optional<core::Value> value_for(const core::Value& written, const FactTable& facts);

/// The fact that a formula asks for; empty for a plain value (the test of the knowledge asks).
std::string_view fact_of_formula(const core::Value& written);

}  // namespace aplomb::diagnosis

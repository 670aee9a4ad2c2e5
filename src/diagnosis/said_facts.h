#pragma once
/// What people say, taken for what was seen: `said.loss.nonfinite` stands for the symptom
/// `loss.nonfinite` where no metric shows it, so that causes need one rule and not two. The rules
/// are knowledge/claims/symptoms.yaml; measurements come first: a fact that is held stays.
/// The derivers are said_facts() of diagnosis/derivers.h: the facts whose rule holds, with
/// `said.as.<fact>` beside those that stand on words, and `said.trouble` where one of them is more
/// than a note.

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {

/// Whether a fact stands on what people wrote, and on nothing that was measured or that a program
/// printed: `said.*`, `words.*`, `error.<kind>-said`, and symptoms that a rule took from them (each
/// beside a fact `said.as.<symptom>`).
bool is_said(const FactTable& facts, std::string_view name);

/// How much it weighs to explain what was only said, for each fact that stands on words.
void add_said_severities(const FactTable& facts, SeverityOf& severities);

/// Why that which was noticed is in order (knowledge/claims/normal.yaml); nothing where no
/// rule says so. `suspected`: some cause is likely; then only `strong` rules count, which know the
/// suspicious thing itself to be in order.
std::optional<std::string> why_normal(const FactTable& facts, bool suspected = false);

}  // namespace aplomb::diagnosis

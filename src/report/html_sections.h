#pragma once
/// The sections of the report page, each a piece of HTML; empty where the report has nothing for
/// it.

#include <aplomb/report.h>

#include <string>

namespace aplomb::report {

/// Verdict, the first cause, what happened, and how sure that is.
std::string hero(const Report& report);
/// What to change, in the keys of the user's framework; or what to do next where that is not known.
std::string action(const Report& report);
/// When the same was seen before, and what ended it.
std::string before(const Report& report);
/// What `aplomb check` found, with the lines and what to change.
std::string findings(const Report& report);
/// Why the first cause: its paragraph, the lines that show it, the weights behind its probability.
std::string why(const Report& report);
std::string symptoms(const Report& report);
std::string other_causes(const Report& report);
/// Rivals that a fact rules out, each with the fact.
std::string ruled_out(const Report& report);
/// What shows a run to be in order; of an unclear one also what speaks against it and what is
/// missing.
std::string health(const Report& report);
std::string experiments(const Report& report);
std::string runs(const Report& report);
std::string inputs(const Report& report);
std::string settings(const Report& report);

}  // namespace aplomb::report

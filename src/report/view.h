#pragma once
/// What the views for people share: which answer leads, and how paths and odds are written.

#include <aplomb/report.h>

#include <string>
#include <string_view>

namespace aplomb::report {

/// Whether the first cause is put forward as the answer.
bool is_answered(const Report& report);

/// A text of `summary`; empty where it is missing.
std::string summary_text(const Report& report, const std::string& key);

/// What was seen: the worst symptom or event, else what weighs most for the first cause; empty
/// where there is neither.
std::string seen_text(const Report& report);

/// Whether two causes are put forward in place of one: the first is less likely than not, and the
/// second is not far behind it.
bool is_either(const Report& report);

/// Whether of two causes a test has to say which it is before anything is changed. Where both begin
/// with a change of the same settings nothing hangs on it: the fixes of the first are told.
bool needs_test(const Report& report);

/// What the report claims first: the cause, or both of two (`One of: X (34 %), or Y (21 %)`), with
/// how sure that is; the headline where no cause is put forward.
std::string claim(const Report& report);

/// Of an either: the experiment that tells the two apart; else the first. Null where there is none.
const ReportExperiment* telling_experiment(const Report& report);

/// The first cause as a claim no stronger than its probability: `X`, `Probably: X`, `Perhaps: X`.
std::string cause_claim(const ReportCause& cause);

/// Where the same was seen before, and what ended it; empty where it was not.
std::string seen_before_text(const Report& report);

/// `87 %`; `> 99 %` and `< 1 %` at the ends.
std::string show_percent(double probability);

/// The cause's title; with its family where another listed cause has the same one.
std::string cause_title(const Report& report, const ReportCause& cause);

/// The folder that all inputs lie in, with the slash at its end; empty where they share none.
std::string shared_folder(const Report& report);

/// The path without the shared folder.
std::string short_path(std::string_view path, std::string_view shared);

}  // namespace aplomb::report

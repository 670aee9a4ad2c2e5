#pragma once
/// A Report without what tells who and where, and without keys: every text of it that comes from the
/// inputs goes through a Redactor (redact.h), so that any view of it may be sent to others.
///
///     Redactor redact(names);
///     print(renderer->render(redact_report(report, redact), how));
///
/// Ids, roles, severities, series names of the knowledge base and all numbers stay. Paths become
/// stand-ins: a redacted report is for reading, not for mending files (`--fix` takes the original).

#include <aplomb/report.h>

#include "report/redact.h"

namespace aplomb::report {

Report redact_report(Report report, Redactor& redact);

}  // namespace aplomb::report

#include "api/explain_difference.h"

#include <algorithm>

#include "api/flow.h"

namespace aplomb::api {
namespace {

/// What is less likely than that explains nothing to anybody.
constexpr double k_least_likely = 0.3;  // judgement: a third or less is one guess among several

std::optional<compare::Ailment> ailment_of(AskedRun asked, const DiagnoseOptions& options) {
  std::vector<record::Run> runs;
  runs.push_back(std::move(asked.run));
  const std::vector<report::DiagnosedRun> judged =
      judge_runs(std::move(runs), {asked.path}, options);
  const diagnosis::Diagnosis& diagnosis = judged.front().diagnosis;
  const bool in_order = diagnosis.standing == diagnosis::Standing::healthy ||
                        diagnosis.standing == diagnosis::Standing::insufficient;
  if (in_order || diagnosis.causes.empty()) return std::nullopt;
  const diagnosis::RankedCause& cause = diagnosis.causes.front();
  if (cause.probability < k_least_likely) return std::nullopt;
  compare::Ailment ailment{cause.id, cause.title, cause.probability, {}, {}};
  if (cause.remedies.empty()) return ailment;
  // What the later remedies set eases the trouble; what the first sets is what it comes from.
  ailment.first_fix = cause.remedies.front().text;
  for (const auto& [setting, value] : cause.remedies.front().set) ailment.sets.push_back(setting);
  return ailment;
}

}  // namespace

void explain_difference(compare::Comparison& comparison, AskedRun a, AskedRun b,
                        const DiagnoseOptions& options) {
  if (comparison.verdict == compare::Judgement::identical) return;
  std::optional<compare::Ailment> of_a = ailment_of(std::move(a), options);
  compare::explain(comparison, std::move(of_a), ailment_of(std::move(b), options));
}

}  // namespace aplomb::api

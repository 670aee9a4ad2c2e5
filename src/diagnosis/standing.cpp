#include "diagnosis/standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace aplomb::diagnosis {
namespace {

/// Below this the first cause is a guess among several.
constexpr double k_likely = 0.5;
/// The same where what is learnt from reports leads: of those told with 0.5 to 0.6 two of five are
/// wrong, and of the reports that say too little to know one in twenty gets that far.
constexpr double k_likely_by_words = 0.6;
/// From here on a cause is told even against metrics that look well.
constexpr double k_sure = 0.9;
/// From here on a text asks about a run in order: of 66 such questions, judged by what was learnt
/// without them, 49 get to 0.6; of 633 reports of broken runs 51. It is told so, and the run stays
/// unclear: words show nothing.
constexpr double k_calm = 0.6;
/// Of a run with fewer samples than this in every series, what is missing may be anything.
constexpr std::uint64_t k_scrap_samples = 8;
/// From so many samples on, a run whose metrics show nothing is judged by them, not by its
/// settings: the first-hundred-steps rule of the stability checklists, at the usual logging of
/// every few steps.
constexpr std::uint64_t k_plenty_samples = 30;
/// So many samples after an error say that training went on.
constexpr std::ptrdiff_t k_survived_samples = 10;

/// Metrics that say how training goes. Times, memory and learning rates alone do not make a run
/// healthy.
bool says_how_it_goes(record::Role role) {
  using enum record::Role;
  static constexpr std::array k_telling = {loss,     loss_component,   eval_loss,
                                           reward,   reward_component, perplexity,
                                           accuracy, eval_accuracy,    eval_metric};
  return std::find(k_telling.begin(), k_telling.end(), role) != k_telling.end();
}

std::uint64_t telling_samples(const record::Run& run) {
  std::uint64_t most = 0;
  for (const record::Series& series : run.series) {
    const bool always_zero =
        series.min == 0 && series.max == 0;  // says nothing good of an accuracy or a reward
    if (says_how_it_goes(series.role) && !always_zero) most = std::max(most, series.count);
  }
  return most;
}

/// Training went on after the event: it did not end the run (it was killed and resumed, say).
bool was_survived(const record::Run& run, const record::Event& event) {
  for (const record::Series& series : run.series) {
    if (!says_how_it_goes(series.role) || series.source != event.origin.source) continue;
    const auto after =
        std::upper_bound(series.offset.begin(), series.offset.end(), event.origin.offset);
    if (series.offset.end() - after >= k_survived_samples) return true;
  }
  return false;
}

bool was_resumed_after(const record::Run& run, const record::Event& event) {
  return std::any_of(run.events.begin(), run.events.end(), [&](const record::Event& other) {
    return other.kind == "resuming" && other.origin.source == event.origin.source &&
           other.origin.offset > event.origin.offset;
  });
}

}  // namespace

core::Severity severity_of(const record::Run& run, const record::Event& event) {
  if (event.severity <= core::Severity::note || !was_survived(run, event)) return event.severity;
  // Whoever resumed the run knows that it was stopped.
  return was_resumed_after(run, event) ? core::Severity::note
                                       : std::min(event.severity, core::Severity::warning);
}

core::Severity worst_of(const record::Run& run, const std::vector<detectors::Symptom>& symptoms) {
  core::Severity worst = core::Severity::note;
  for (const detectors::Symptom& symptom : symptoms) worst = std::max(worst, symptom.severity);
  for (const record::Event& event : run.events) {
    if (event.severity <= worst) continue;
    worst = std::max(worst, severity_of(run, event));
  }
  return worst;
}

namespace {

/// A loss that lost nearly all of itself and then stays has arrived. (Judgement: what is left of a
/// cross-entropy whose accuracy is near 1.)
bool has_arrived(const std::vector<detectors::Symptom>& symptoms) {
  constexpr double k_nearly_all = 0.95;
  return std::any_of(symptoms.begin(), symptoms.end(), [](const detectors::Symptom& symptom) {
    const auto learned = symptom.measures.find("learned_frac");
    const double* share =
        learned == symptom.measures.end() ? nullptr : core::as_number(learned->second);
    return symptom.id == "loss.plateau" && symptom.severity == core::Severity::note &&
           share != nullptr && *share >= k_nearly_all;
  });
}

/// The cause accounts for something that the artifacts say or for a loss that does not fall, not
/// only for settings that could do harm or a metric that is a little unusual.
bool explains_what_matters(const RankedCause& cause,
                           const std::vector<detectors::Symptom>& symptoms) {
  const bool arrived = has_arrived(symptoms);
  return std::any_of(cause.reasons.begin(), cause.reasons.end(), [&](const WeighedReason& reason) {
    if (reason.kind != ReasonKind::explains) return false;
    if (arrived && reason.fact == "loss.plateau") return false;
    return reason.fact.starts_with("error.") || is_mistake(reason.fact) ||
           std::any_of(k_troubles.begin(), k_troubles.end(),
                       [&](const Trouble& trouble) { return trouble.fact == reason.fact; });
  });
}

/// Words that such reports use, and nothing that any sentence, setting or metric says.
bool stands_on_word_choice(const RankedCause& cause) {
  bool words = false;
  for (const WeighedReason& reason : cause.reasons) {
    if (reason.weight <= 0) continue;
    if (reason.kind != ReasonKind::words) return false;
    words = true;
  }
  return words;
}

/// How likely it is that the cause is of the first one's family, whichever of them.
double share_of_first_family(const Ranking& ranking) {
  double share = 0;
  for (const RankedCause& cause : ranking.causes) {
    if (cause.family == ranking.causes.front().family) share += cause.probability;
  }
  return share;
}

}  // namespace

Standing judge_standing(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                        const Ranking& ranking, const HealthEvidence& health) {
  const core::Severity worst = worst_of(run, symptoms);
  const std::uint64_t samples = telling_samples(run);
  // The standing says how the run is, not how sure the cause is: a NaN is a failure even where
  // nobody can say why. Only a mere warning in a scrap of a log says too little of either.
  if (worst == core::Severity::failed) return Standing::failed;
  if (worst == core::Severity::unstable) return Standing::unstable;
  // Metrics that show what is wrong are not in order because two causes of it are as likely.
  const bool one_of_a_family = samples > 0 && !ranking.causes.empty() &&
                               explains_what_matters(ranking.causes.front(), symptoms) &&
                               share_of_first_family(ranking) >= k_likely;
  const double enough = ranking.from_text ? k_likely_by_words : k_likely;
  const bool likely =
      one_of_a_family || (!ranking.causes.empty() && ranking.causes.front().probability >= enough);
  if (worst == core::Severity::warning)
    return !likely && samples < k_scrap_samples ? Standing::insufficient : Standing::warning;
  if (likely) {
    const RankedCause& first = ranking.causes.front();
    const bool doubtful = stands_on_word_choice(first) ||
                          (samples >= k_plenty_samples && !explains_what_matters(first, symptoms));
    if (!doubtful || first.probability >= k_sure) return Standing::warning;
  }
  return health.is_shown() ? Standing::healthy : Standing::insufficient;
}

namespace {

/// What a memory snapshot shows, where it is all that there is.
const record::Event* snapshot_of(const record::Run& run) {
  const auto found =
      std::find_if(run.events.begin(), run.events.end(),
                   [](const record::Event& event) { return event.kind == "memory-snapshot"; });
  return found == run.events.end() ? nullptr : &*found;
}

std::string undecided_headline(const record::Run& run, const Ranking& ranking,
                               const HealthEvidence& health, const std::string& seen) {
  if (const record::Event* snapshot = snapshot_of(run)) return snapshot->text + ".";
  if (!seen.empty()) return fmt::format("{}; the cause cannot be told from this alone.", seen);
  if (ranking.healthy_probability >= k_calm)
    return "Probably nothing wrong, by what is told: reports like this one were about runs in "
           "order. Metrics would show it.";
  if (ranking.from_text && !ranking.causes.empty())
    return fmt::format("What is told does not decide. Perhaps: {}.", ranking.causes.front().title);
  if (!health.against.empty())
    return fmt::format("No cause stands out, and the run is not in order: {}.",
                       health.against.front().because);
  if (!health.missing.empty() && telling_samples(run) > 0)
    return fmt::format("Nothing wrong was found, and nothing shows that the run learns: {}.",
                       health.missing.front().because);
  return "Too little to judge: nothing wrong was found, and next to nothing was read.";
}

}  // namespace

std::string write_headline(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                           const Ranking& ranking, const HealthEvidence& health,
                           Standing standing) {
  const detectors::Symptom* worst = nullptr;
  for (const detectors::Symptom& symptom : symptoms) {
    if (worst == nullptr || symptom.severity > worst->severity) worst = &symptom;
  }
  const record::Event* event = nullptr;
  for (const record::Event& other : run.events) {
    if (event == nullptr || other.severity > event->severity) event = &other;
  }
  std::string seen;
  const bool by_event = event != nullptr && event->severity > core::Severity::note &&
                        (worst == nullptr || event->severity > worst->severity);
  if (by_event) {
    seen = core::shorten(core::trim(event->text), 100);
  } else if (worst != nullptr && worst->severity > core::Severity::note) {
    seen = worst->summary;
  }
  switch (standing) {
    case Standing::healthy:
      return fmt::format("The run learns, and nothing speaks against it: {}.",
                         health.shown.empty() ? "" : health.shown.front().because);
    case Standing::insufficient:
      return undecided_headline(run, ranking, health, seen);
    default:
      break;
  }
  if (ranking.causes.empty()) return seen + ".";
  const RankedCause& first = ranking.causes.front();
  const char* sure = first.probability >= 0.8        ? "Most likely"
                     : first.probability >= k_likely ? "Probably"
                                                     : "Perhaps";
  if (seen.empty()) return fmt::format("{}: {}.", sure, first.title);
  return fmt::format("{}. {}: {}.", seen, sure, first.title);
}

}  // namespace aplomb::diagnosis

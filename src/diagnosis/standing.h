#pragma once
/// How the run stands, and the one sentence that says so.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {

/// A fact that is trouble by itself where no symptom is more than a note.
struct Trouble {
  std::string_view fact;
  bool derived;  ///< told as a warning where it holds; a symptom has a severity of its own
};

inline constexpr std::array<Trouble, 25> k_troubles = {{{"loss.relapse", false},
                                                        {"loss.never_learned", false},
                                                        {"loss.plateau", false},
                                                        {"eval.elsewhere_worse", false},
                                                        {"eval.gap_widens", false},
                                                        {"eval.below_guess", false},
                                                        {"ema.lags", false},
                                                        {"reward.part_unpaid", false},
                                                        {"eval.exactly_constant", true},
                                                        {"eval.gap_wide", true},
                                                        {"eval.guesses", true},
                                                        {"loss.chance_level", true},
                                                        {"lr.replaced", true},
                                                        {"lr.not_as_set", true},
                                                        {"train.guesses", true},
                                                        {"slow.exposed_communication", true},
                                                        {"slow.loader_waits", true},
                                                        {"slow.syncs", true},
                                                        {"slow.mfu_low", true},
                                                        {"incident.tf32_off", true},
                                                        {"incident.loss_bounces", true},
                                                        {"incident.start_low", true},
                                                        {"incident.stopped_in_collective", true},
                                                        {"resume.unsaid", true},
                                                        {"resume.seen_again", true}}};

/// How much an event weighs for the run as a whole: training that went on survived it.
core::Severity severity_of(const record::Run& run, const record::Event& event);

/// The worst of what was measured: words alone are notes.
core::Severity worst_of(const record::Run& run, const std::vector<detectors::Symptom>& symptoms);

/// - failed, unstable, warning: the worst symptom or event; or a likely cause with nothing worse
/// than notes: warning.
/// - healthy: something shows that the run learns, and nothing speaks against it
/// (diagnosis/health.h). What was told in words shows nothing.
/// - insufficient: all else. That nothing wrong was found is no sign of health.
Standing judge_standing(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                        const Ranking& ranking, const HealthEvidence& health);

std::string write_headline(const record::Run& run, const std::vector<detectors::Symptom>& symptoms,
                           const Ranking& ranking, const HealthEvidence& health, Standing standing);

}  // namespace aplomb::diagnosis

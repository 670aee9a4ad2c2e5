#pragma once
/// CauseBook: knowledge/causes/*.yaml, knowledge/next_steps.yaml and knowledge/calibration.yaml,
/// parsed once.
///
/// A cause:
///     - id: stall.lr-too-low              # family.slug; the family is the file's name
///       title: ...
///       explains: [loss.plateau]          # symptoms and events that this cause would produce
///       needs: "run.kind != rl"           # optional: where it is false the cause is no candidate
///       prior: -1.5                       # log-odds before any evidence, nats
///       evidence:
///         - {when: "lr.peak < 1e-7", weight: 2.0, because: "optional words for the facts' own"}
///       refuted_by:                       # where one holds the cause is ruled out, and told so
///         - {when: "grad_norm.zero", because: "the gradient is exactly 0, at any rate"}
///       because:                          # one paragraph: plain sentences, and claims that are
///         - {when: "lr.under_usual >= 2", say: "The rate of {lr.peak} is far below ..."}  # made
///         - "Steps that small move nothing."                       # only where their facts hold
///       remedies: [{set: {optim.lr: 2e-5}, note: ...}]     # least disruptive first
///       verify: ...
///       experiments: [{separates: [other.cause], text: ..., reads: ..., cost: 1}]   # minutes
///       references: ["arXiv:2309.14322", ...]
///
/// `{lr.peak}` is replaced by the run's number; a sentence whose fact is unknown is left out.

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/condition.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/remedy.h"
#include "facts/declared.h"

namespace aplomb::diagnosis {

struct EvidenceRule {
  Condition when;
  double weight = 0;    ///< nats, added when the condition holds
  std::string because;  ///< words for people; empty: those of the facts
};

/// Where it holds, the cause is none: however much speaks for it.
struct Refutation {
  Condition when;
  std::string because;
};

/// A part of the paragraph that explains a cause. A claim about numbers stands under the condition
/// that makes it true.
struct Sentence {
  std::vector<Condition> when;  ///< at most one; without it the sentence is always said
  std::string text;
};

struct PricedExperiment {
  Experiment experiment;
  double cost =
      5;  ///< minutes of the user's time and card, roughly: the cheaper one is named first
};

struct Cause {
  std::string id;
  std::string family;
  std::string title;
  std::string headline;  ///< optional: the title with {facts} of this run
  std::vector<std::string> explains;
  std::vector<Condition> needs;  ///< at most one
  double prior = 0;
  std::vector<EvidenceRule> evidence;
  std::vector<Refutation> refuted_by;
  std::vector<Sentence> because;
  std::vector<RemedyRule> remedies;
  std::string verify;
  std::vector<PricedExperiment> experiments;
  std::vector<std::string> references;
};

/// What to ask for, or to do next, when the causes do not decide: the first steps whose condition
/// holds.
struct NextStep {
  Condition when;
  Experiment step;
};

/// Numbers for artifacts that are texts which can be weighed as a whole; `text_*` of
/// knowledge/calibration.yaml.
struct TextCalibration {
  double words = 1;   ///< nats for each nat that the words speak for a cause, unbounded
  double floor = -1;  ///< what the rules say at the least
  double temperature = 1;
  double unknown = 0;
  double healthy = 0;      ///< more for a run in order
  double platt_slope = 1;  ///< of a cause that words alone name with a share below one half
  double platt_offset = 0;
  double most = 0.8;  ///< the highest probability that words alone are told with
};

/// Numbers fitted by tools/calibrate.py on labelled cases.
struct Calibration {
  double temperature = 1;  ///< divides log-odds before the softmax
  double unknown = 0;      ///< log-odds of a cause that the book does not hold
  /// The same two where the artifacts hold words and no metrics: who writes down what goes wrong
  /// leaves out what is right.
  double no_metrics_temperature = 1;
  double no_metrics_unknown = 0;
  double asks_normal = 0;  ///< more for the unknown cause where the text asks whether all is normal
  double healthy = 2;      ///< more for the unknown cause where the run looks healthy on the whole
  double explains_failed =
      1;  ///< added once when an explained symptom or event is there, by its severity
  double explains_unstable = 1;
  double explains_warning = 0.7;
  double explains_note = 0.3;
  double explains_unseen = -1;   ///< added when nothing that the cause explains has been seen
  double leaves_failure = -1.5;  ///< added to what accounts for no failure that another does
  /// The same for the share of lesser things that it leaves to others.
  double leaves_unstable = -0.8;
  double leaves_warning = -0.4;
  double explains_none = -2;  ///< added when all of it was looked for and is absent
  double words = 0;       ///< nats added for each nat that the words of the texts speak for a cause
  double words_most = 1;  ///< and no more than so many for it,
  double words_least = -1;  ///< nor fewer than so many against it
  /// The line of Platt's scaling (diagnosis/calibrate_probability.h) of a first cause with evidence
  /// of its own.
  double platt_slope = 1;
  double platt_offset = 0;
  TextCalibration text;
};

struct CauseBook {
  std::vector<Cause> causes;
  std::vector<NextStep> next_steps;
  Calibration calibration;
  std::vector<std::string> mistakes;  ///< what could not be parsed; the tests hold this empty

  const Cause* find(std::string_view id) const;
};

/// The book that was embedded at build. Thread-safe after the first call.
const CauseBook& cause_book();

using facts::declared_facts;
using facts::is_declared;

}  // namespace aplomb::diagnosis

#pragma once
/// Weighing: facts + causes -> log-odds and probabilities.
///
/// A cause's log-odds are its prior, what it gains by explaining what is there, and the weights of
/// the conditions that hold. Causes compete with an explicit unknown cause by softmax; what
/// explains none of the same things is another matter and lowers only the probability of causes
/// behind it, so that a second fault does not hide the first.
///
/// A cause that a fact refutes (`refuted_by` in knowledge/causes) is no candidate, whatever speaks
/// for it, and is told among what was ruled out. One that leaves to others what was seen is behind
/// those that account for it.
///
/// Where the artifacts hold words and no metrics, what is learnt from reports leads (`text_*` of
/// knowledge/calibration.yaml): every cause competes with every other and with a run in order, and
/// one is listed that no rule supports, or whose kind of trouble no rule heard named.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause_book.h"
#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

struct Ranking {
  std::vector<RankedCause>
      causes;  ///< most probable first; only those with a reason beyond their prior
  std::vector<RuledOut> ruled_out;  ///< rivals that a fact refutes, likeliest first
  double unknown_probability = 1;
  bool from_text = false;          ///< what is learnt from reports led
  double healthy_probability = 0;  ///< part of it: as far as words can tell, all is in order
};

/// Severity of what a fact stands for (a symptom or an event of the run), for the gain of
/// explaining it.
using SeverityOf = std::map<std::string, core::Severity, std::less<>>;

/// Facts of a whole program (knowledge/code/*.yaml) or of a setting that are a mistake by themselves,
/// whatever the curves say: `code.mistake.no-zero-grad`, `setting.mistake.dropout`.
inline bool is_mistake(std::string_view fact) {
  return fact.starts_with("code.mistake.") || fact.starts_with("setting.mistake.");
}

/// All that speaks for the cause is what people wrote: nothing was measured, and no program printed
/// it.
bool stands_on_words(const RankedCause& cause);

Ranking weigh_causes(const CauseBook& book, const FactTable& facts, const SeverityOf& severities);

/// `text` with each `{fact.name}` replaced by the fact's value; a sentence that names an unknown
/// fact is left out.
std::string fill_in(std::string_view text, const FactTable& facts);

/// The sentences whose conditions hold, filled in.
std::string fill_in(const std::vector<Sentence>& sentences, const FactTable& facts);

}  // namespace aplomb::diagnosis

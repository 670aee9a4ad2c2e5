#pragma once
/// What the words of all texts of a run and the facts that hold say together, as facts
/// `words.<cause>` (`words.nan.lr-too-high`; `words.healthy`): the logarithm of its probability
/// over an even chance (knowledge/text_classifier.h), with the lines that say most of it. Unknown where
/// the texts are thin. The deriver is word_facts() of diagnosis/derivers.h.

#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

/// The words of the texts of a run, and the facts that hold as features (`@said.loss.nonfinite`,
/// `@precision.compute=fp16`); each once. Whether the book knows them or not: what is learnt from
/// reports is learnt from these.
std::vector<std::string> report_features(const record::Run& run, const FactTable& facts);

}  // namespace aplomb::diagnosis

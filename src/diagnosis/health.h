#pragma once
/// Whether a run may be called healthy. That is a finding like any other and takes evidence of its
/// own: something shows that the run learns (`shows` of knowledge/health.yaml), and nothing speaks
/// against it (`against`). Where nothing shows it, what is missing is told (`missing`).

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

HealthEvidence judge_health(const FactTable& facts);

/// Symptoms that the rest of the run accounts for become notes (`explained`): a loss that jumps
/// where a curriculum announces its next stage.
void lower_explained(const FactTable& facts, std::vector<detectors::Symptom>& symptoms);

/// What is wrong with knowledge/health.yaml; the tests hold this empty.
const std::vector<std::string>& health_mistakes();

/// Facts that knowledge/health.yaml asks for; the tests hold them declared.
std::vector<std::string> health_facts();

}  // namespace aplomb::diagnosis

#pragma once
/// Parts that several faults are made of: the loss written out as users' loops write it.
///
/// Shape legend: B rows, T columns, V vocabulary, N = B * (T - 1) places that predict.

#include <ATen/ATen.h>

#include "train/lab/harm.h"
#include "train/lab/lab_run.h"

namespace aplomb::train::lab {

struct Prediction {
  at::Tensor logits;  ///< [N, V], fp32, with graph
  at::Tensor labels;  ///< [N] int64, k_ignored where nothing counts
};
/// Logits at T - 1 columns and the labels one column later, as every causal language model's loss
/// has them. `shift`: how many columns later (1 is right).
Prediction predict(model::LanguageModel& model, const text::TokenBatch& batch,
                   std::int64_t shift = 1);

/// Mean over the labels that count: NaN where none does, as F.cross_entropy has it.
at::Tensor mean_cross_entropy(const Prediction& prediction);

/// `model` drawn anew with this standard deviation, as its config.json says.
void set_initializer_range(model::ModelConfig& model, double deviation);

/// A mean as the sum that the loop divides by the tokens that count: what is logged is the mean.
at::Tensor as_sum(const at::Tensor& mean, const text::TokenBatch& batch);

/// Words for Fault's members in one call.
struct FaultText {
  const char* id;
  const char* summary;
  std::vector<std::string> causes;
  const char* accept_because = "";
};
Fault make_fault(FaultText text, Harm harm, GuardRole guard, const char* guard_because,
                 std::function<void(LabRun&)> change);
/// The same fault, of which nothing is there before `step`.
Fault from_step(std::int64_t step, Fault fault);
/// The same of a fault that lies in the code of a loop.
Fault make_code_fault(FaultText text, Harm harm, GuardRole guard, const char* guard_because,
                      std::function<void(LabRun&)> change);

}  // namespace aplomb::train::lab

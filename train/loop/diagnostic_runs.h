#pragma once
/// Runs that answer one question, each with a verdict: can it learn at all, which learning rate,
/// does precision matter, is it the settings.

#include <functional>
#include <string>
#include <vector>

#include "train/loop/probe.h"

namespace aplomb::train::loop {

struct Answer {
  bool good = false;    ///< nothing wrong was found
  std::string verdict;  ///< one sentence, with the numbers, and what follows from it
};

/// One batch again and again at `lr`. A model that can learn brings its loss to almost nothing.
Answer overfit_one_batch(Trainee& trainee, const text::TokenBatch& batch, double lr,
                         std::vector<ProbeStep>* seen = nullptr);

/// The learning rate rises from 1e-7 by a constant factor a step (L. Smith, arXiv 1506.01186) until
/// the loss is four times its best or not finite.
struct RangeTest {
  Answer answer;
  double best_lr = 0;    ///< where the loss stood lowest
  double breaks_at = 0;  ///< where it broke; 0: nowhere up to 1
  double suggested = 0;  ///< a tenth of best_lr
};
RangeTest lr_range_test(Trainee& trainee,
                        const std::function<text::TokenBatch(std::int64_t)>& batch,
                        std::vector<ProbeStep>* seen = nullptr);

/// What the same steps gave in one format.
struct PrecisionRun {
  std::string name;  ///< fp32 | bf16 | fp16; the first of the list is what the others are held to
  std::vector<ProbeStep> steps;
};
Answer compare_precisions(const std::vector<PrecisionRun>& runs);

/// The first steps with the safest settings.
Answer judge_minimal(const std::vector<ProbeStep>& steps);

}  // namespace aplomb::train::loop

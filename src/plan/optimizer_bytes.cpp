#include "plan/optimizer_bytes.h"

#include <algorithm>

namespace aplomb::plan {
namespace {

/// bitsandbytes keeps a byte a number and an fp32 scale a block of 256 (functional.py, blockwise).
constexpr double k_8bit = 1 + 4.0 / 256;

}  // namespace

OptimizerBytes optimizer_bytes(const Training& training, const Weights& weights) {
  OptimizerBytes out;
  const double trained = weights.trained();
  // States have the format of the weights that the optimizer sees (torch/optim/adamw.py).
  const double width = trained == 0 || training.precision.master
                           ? 4
                           : weights.trained_bytes() / std::max(1.0, trained);
  if (training.precision.master) out.master = 4 * trained;
  switch (training.optimizer) {
    case Optimizer::adamw:
      out.moments = 2 * width * trained;
      break;
    case Optimizer::adamw_8bit:
      out.moments = 2 * k_8bit * trained;
      break;
    case Optimizer::lion:
      out.moments = width * trained;
      break;
    case Optimizer::lion_8bit:
      out.moments = k_8bit * trained;
      break;
    case Optimizer::sgd:
      break;
    case Optimizer::sgd_momentum:
      out.moments = width * trained;
      break;
    case Optimizer::adafactor:
      out.moments = 4 * weights.factored();
      break;
    case Optimizer::muon: {
      // Momentum of the inner matrices, both moments of what is left to AdamW.
      const double matrices = weights.trained_matrices();
      out.moments = width * matrices + 2 * width * (trained - matrices);
      // Newton-Schulz holds three bf16 matrices of the largest weight (torch/optim/_muon.py).
      out.passing = 3 * weights.largest_trained() / 2;
      break;
    }
  }
  // Adafactor makes the whole update before it applies it (torch/optim/_adafactor.py); AdamW's
  // fused kernel, transformers' default, needs nothing beside.
  if (training.optimizer == Optimizer::adafactor) out.passing = 2 * weights.largest_trained();
  return out;
}

}  // namespace aplomb::plan

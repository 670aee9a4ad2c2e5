#pragma once
/// A real training in half a second: a regression with two layers, SGD with momentum in float32, on points of
/// waves. Given a rate that no such network stands, it diverges as large ones do.

#include <cstdint>
#include <string>
#include <vector>

namespace aplomb::demo {

struct TinyTraining {
  double learning_rate = 0.05;
  double momentum = 0.9;
  int batch_size = 64;
  int hidden = 64;
  int steps = 600;
  std::uint64_t seed = 7;
};

struct TinyStep {
  int step = 0;
  double loss = 0;        ///< of the batch; NaN and Inf as they come
  double grad_norm = 0;   ///< global, before the step
  double eval_loss = -1;  ///< on held-out points; negative where the step was not evaluated
};

/// Every step of it. The same numbers on every machine that rounds as IEEE 754 and whose libm agrees.
std::vector<TinyStep> train(const TinyTraining& how);

/// What a trainer would have printed and read: `step 1/600 loss ...` lines, and `key: value` lines.
std::string log_of(const TinyTraining& how, const std::vector<TinyStep>& steps);
std::string config_of(const TinyTraining& how);

}  // namespace aplomb::demo

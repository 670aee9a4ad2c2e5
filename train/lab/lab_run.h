#pragma once
/// LabRun: the healthy run that faults change: a Llama of two layers, drawn at random, that learns
/// a small language. Everything a fault may alter stands here.
///
/// The run itself is train/loop's Trainer. What the Trainer cannot be told to do wrong is done by
/// hooks around model and optimizer, so that no second loop exists.

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/lab/fault.h"
#include "train/lab/language.h"
#include "train/lab/script.h"
#include "train/loop/options.h"
#include "train/loop/trainer.h"
#include "train/model/language_model.h"

namespace aplomb::train::lab {

/// Where a hook is called from.
struct Place {
  std::int64_t step = 1;  ///< the optimizer step at hand, from 1
  std::int64_t pass = 0;  ///< micro-batch of it
  /// Micro-batches of the data drawn for this step and before it. Unlike `step` it goes on where
  /// the guard goes back and leaves data out: what is wrong with the data is found by it.
  std::int64_t drawn = 1;
  bool training = true;  ///< false: held-out data are being judged
};

struct RestartParts {
  std::vector<loop::NamedTensor>& parameters;
  loop::Optimizer& optimizer;
  text::BatchStream& data;
  std::int64_t step = 0;        ///< of the checkpoint
  std::int64_t& schedule_back;  ///< the schedule goes on so many steps behind
};

/// All may be empty.
struct Hooks {
  /// Weights are drawn, nothing else is there yet.
  std::function<void(model::LanguageModel&)> start;
  /// Which of the parameters the optimizer gets: take out what it is to miss.
  std::function<void(std::vector<loop::NamedTensor>&)> optimized;
  /// Before a forward pass.
  std::function<void(text::TokenBatch&, const Place&)> batch;
  /// Instead of the forward pass: sum of the token losses of the batch, with its graph.
  std::function<at::Tensor(model::LanguageModel&, const text::TokenBatch&, const Place&)> forward;
  /// After it. What is returned over the tokens that count is the loss that is logged.
  std::function<at::Tensor(const at::Tensor& sum, const text::TokenBatch&, const Place&)> loss;
  /// Gradients are there, before the optimizer's step; and after it.
  std::function<void(const std::vector<loop::NamedTensor>&, const Place&)> before_step, after_step;
  /// Instead of train/loop's optimizer.
  std::function<std::unique_ptr<loop::Optimizer>(const std::vector<loop::NamedTensor>&,
                                                 const loop::TrainOptions&)>
      optimizer;
  /// Share of the peak at step (from 0), instead of the schedule of the options.
  std::function<double(std::int64_t step)> schedule;
  /// After a resume (restart_at), everything put back: break it here.
  std::function<void(RestartParts)> restart;
  /// The run is over: what the user's logger showed otherwise than it was (steps counted anew).
  std::function<void(Trace&)> logged;
};

struct LabRun {
  explicit LabRun(std::uint64_t seed);

  std::uint64_t seed;
  /// optim, length (batch_size, per_device_train_batch_size, max_steps), precision, output, guard
  /// are in force as a user gave them.
  loop::TrainOptions options;
  model::ModelConfig model;
  model::ModelOptions how;  ///< formats and kernels of the forward pass
  Language language;        ///< what is learnt, and how much of it there is
  Hooks hooks;
  Script script;  ///< Style::plain: the user's train.py
  /// Settings that no TrainOptions holds, as the user of a loop of his own has them (config.yaml).
  std::vector<std::pair<std::string, std::string>> own_settings;
  torch::Dtype stored = torch::kFloat32;  ///< of the weights in checkpoints
  std::int64_t restart_at = 0;            ///< the run is stopped there and resumed; 0: it is not
  /// With the guard in force: evaluations without a better one after which the run is ended, with
  /// its best checkpoint as the result (--early-stop-patience, --load-best-model-at-end); 0: never.
  std::int64_t guard_patience = 0;
};

/// The healthy run of `seed` with one change.
Runner trained(std::function<void(LabRun&)> change);
/// The same where the fault needs another healthy run: `base` changes both sides.
Runner trained(std::function<void(LabRun&)> base, std::function<void(LabRun&)> change);

/// Trains as `lab` says, and leaves the evidence that `request` wants.
core::Result<Trace> run_lab(const LabRun& lab, const Request& request);

/// Parameters by a part of their name: `q_proj`, `layers.0.`, `norm.weight`; empty: all.
std::vector<at::Tensor> parameters_like(model::LanguageModel& model, std::string_view part);

}  // namespace aplomb::train::lab

#pragma once
/// Session: everything that a run opens before its first step, in the order in which it can fail:
/// options, data, places to write, and the weights last.

#include <memory>
#include <optional>
#include <string>

#include "train/dist/group.h"
#include "train/loop/checkpoint_store.h"
#include "train/loop/data_setup.h"
#include "train/loop/journal.h"
#include "train/loop/llama_trainee.h"
#include "train/loop/options.h"
#include "train/loop/schedule_plan.h"

namespace aplomb::train::loop {

struct Session {
  dist::Group* group = &dist::Group::alone();
  TrainOptions options;
  Placement placement;
  model::ModelConfig config;
  DataSetup data;
  StepCounts steps;
  std::int64_t accumulation = 1;
  double flops_per_token = 0;  ///< by the plan; 0: unknown
  std::optional<std::string> resumed_from;
  std::optional<Journal> journal;
  bool took_folder = false;
  std::unique_ptr<LlamaTrainee> trainee;
};

/// All but the weights.
core::Result<Session> open_session(const TrainOptions& options, const CheckpointStore& store,
                                   dist::Group& group = dist::Group::alone());
/// The options with what they left to be decided.
TrainOptions in_force(const Session& session);
/// Says what is about to be run.
core::Result<void> introduce(Session& session);
/// Takes the output folder over: the journal begins, what a killed run left unfinished goes, and
/// train.yaml is written. Until then the files of an earlier run there stay as they are. Once.
core::Result<void> take_folder(Session& session);
/// What check and plan say. False: the run would not fit into memory.
bool judge(Session& session);
core::Result<void> open_weights(Session& session);

}  // namespace aplomb::train::loop

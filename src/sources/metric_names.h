#pragma once
/// What a metric's key means: first by the tables of knowledge/frameworks, then by the words in it.

#include <string>
#include <string_view>

#include "record/role.h"

namespace aplomb::sources {

struct MetricName {
  std::string series;  ///< canonical where known; else the key as it was
  double scale = 1;    ///< sample = printed * scale
  record::Role role = record::Role::other;
};

/// `train/loss` -> loss; `val_loss_epoch` -> eval_loss; `train/box_loss` -> loss/box (by its words:
/// no table holds every head of every model); `my_metric` -> my_metric, Role::other. `framework`:
/// its slug, empty where unknown.
MetricName name_metric(std::string_view key, std::string_view framework = {});

/// How a key states the place of a record in the run; the lower the surer. 0: it does not.
///   1 global_step (and any framework's way to say it), 2 step, iter, current_steps, 3 _step (W&B's
///   count of calls), 4 epoch
int step_rank(std::string_view key);

/// Keys that say when or how long, not how the training goes: `_timestamp`, `eval_runtime`, `time`.
bool is_bookkeeping(std::string_view key);

}  // namespace aplomb::sources

#pragma once
/// A score that is printed once more at the end, on other data than the held-out ones of training
/// (`scoring next quarter: auc=0.64` behind twenty records of `valid_auc=1.00`), and scores of training
/// that held-out data have nothing of.

#include <optional>
#include <string>

#include "record/run.h"

namespace aplomb::task {

struct Elsewhere {
  std::string name;     ///< `auc`
  double held_out = 0;  ///< last value on the held-out data
  double elsewhere = 0;
  bool is_loss = false;   ///< lower is better
  record::Origin origin;  ///< of the value elsewhere
};

/// The score that is worst, beside its counterpart; nothing where none is printed twice so.
std::optional<Elsewhere> score_elsewhere(const record::Run& run);

/// A score of 0 to 1 that is nearly 1 on training data and nearly 0 on held-out data at the end, named
/// alike (`train_dice 0.99 val_dice 0.01`): `elsewhere` is that of training.
std::optional<Elsewhere> score_in_training_only(const record::Run& run);

}  // namespace aplomb::task

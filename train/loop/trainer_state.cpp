/// What of the Trainer goes into a checkpoint and comes back from it.

#include <fmt/format.h>

#include "train/loop/atomic_folder.h"
#include "train/loop/optimizer_file.h"
#include "train/loop/random_state.h"
#include "train/loop/trainer.h"

namespace aplomb::train::loop {

TrainingState Trainer::state_now() const {
  TrainingState state;
  state.step = step_;
  state.total_steps = plan_.schedule.total_steps();
  state.data = parts_.data.position();
  state.data_fingerprint = parts_.data.fingerprint();
  state.world = group_.size();
  state.loss_scale = loss_scale_;
  state.skipped_steps = skipped_;
  state.best_step = evaluations_.best_step();
  state.best_eval_loss = evaluations_.best_loss();
  state.evals_since_best = evaluations_.since_best();
  state.window_loss = window_.loss_sum();
  state.window_steps = window_.steps();
  const AttentionLadder::State ladder = ladder_.state();
  state.attention = ladder.rung;
  state.attention_steps = ladder.steps_on_it;
  state.attention_settled = ladder.settled;
  state.guard = guard_.save();
  state.rng = random_states();
  return state;
}

core::Result<void> Trainer::save() {
  if (!group_.is_first()) {  // rank 0 writes; where it cannot, it ends the run for all
    saved_at_ = step_;
    return {};
  }
  const TrainingState state = state_now();
  const auto saved = parts_.store.save(
      step_, evaluations_.best_step(), [&](const std::string& folder) -> core::Result<void> {
        if (auto done = parts_.trainee.save(folder); !done) return done;
        const std::string at = folder + "/";
        if (auto done = save_optimizer(at + k_optimizer_file, parts_.optimizer, parts_.trainee,
                                       plan_.schedule.factor(step_));
            !done) {
          return done;
        }
        return write_synced(at + k_training_state_file, training_state_json(state));
      });
  if (!saved) return tl::unexpected(saved.error());
  saved_at_ = step_;
  parts_.journal.note("checkpoint: " + *saved);
  return {};
}

core::Result<void> Trainer::resume(const std::string& folder) {
  const auto state = read_training_state(folder + "/" + k_training_state_file);
  if (!state) return tl::unexpected(state.error());
  if (state->world != group_.size()) {
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[checkpoint] {}: written by {} ranks, this run has {}: resume with as "
                    "many, or start anew from its weights",
                    folder, state->world, group_.size()));
  }
  if (state->data_fingerprint != parts_.data.fingerprint()) {
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[checkpoint] {}: the data, their order or the batches are others than "
                    "when it was written: resume with the same data and options, or start "
                    "anew",
                    folder));
  }
  if (auto loaded = parts_.trainee.load(folder); !loaded) return loaded;
  if (auto loaded =
          load_optimizer(folder + "/" + k_optimizer_file, parts_.optimizer, parts_.trainee);
      !loaded) {
    return loaded;
  }
  if (auto found = parts_.data.seek(state->data); !found) return found;
  if (!ladder_.restore({state->attention, state->attention_steps, state->attention_settled})) {
    parts_.journal.warn("attention: the checkpoint was on " + state->attention +
                        ", which is not among this run's; the ladder begins anew");
  }
  if (!guard_.load(state->guard)) {
    parts_.journal.warn(
        "guard: its state in the checkpoint is of other options; it learns the run anew");
  }
  for (const Record& each : parts_.journal.earlier()) judge_.observe(each);  // was told then
  for (const Record& each : parts_.journal.earlier()) {
    if (each.loss) last_loss_ = *each.loss;
    if (each.eval_loss) evaluations_.note_earlier(each.step, *each.eval_loss);
  }
  step_ = saved_at_ = state->step;
  loss_scale_ = state->loss_scale;
  skipped_ = state->skipped_steps;
  evaluations_.restore(state->best_step, state->best_eval_loss, state->evals_since_best);
  window_.restore(state->window_loss, state->window_steps);
  return set_random_states(state->rng);
}

}  // namespace aplomb::train::loop

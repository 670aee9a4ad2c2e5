#pragma once
/// Trainer: the loop. Each optimizer step: the micro-batches of a global batch, their losses
/// averaged over all tokens that count, the guard's verdict, the step; and in their turn records,
/// evaluations, checkpoints.
///
///     Trainer trainer(parts, plan);
///     if (resumed) trainer.resume(path);
///     Result<Outcome> outcome = trainer.run();
///
/// With several ranks each has a Trainer, a stream of its part of the data, and the same plan. What
/// decides (loss, norms, verdicts, evaluations, the wish to stop) is the same on all of them; rank
/// 0 alone writes. Throws GroupLost where one of them is gone.

#include <aplomb/guard.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "guard/trouble.h"
#include "train/dist/gradient_buckets.h"
#include "train/dist/group.h"
#include "train/loop/attention_ladder.h"
#include "train/loop/best_evaluation.h"
#include "train/loop/cadence.h"
#include "train/loop/checkpoint_store.h"
#include "train/loop/gradients.h"
#include "train/loop/journal.h"
#include "train/loop/live_judge.h"
#include "train/loop/metrics_window.h"
#include "train/loop/schedule.h"
#include "train/loop/snapshots.h"
#include "train/loop/trainee.h"
#include "train/loop/training_state.h"
#include "train/text/batch_stream.h"

namespace aplomb::train::loop {

/// What the loop works on; all of it outlives the Trainer.
struct TrainerParts {
  Trainee& trainee;
  Optimizer& optimizer;
  text::BatchStream& data;
  text::BatchStream* eval = nullptr;  ///< null: nothing is held out
  Journal& journal;
  const CheckpointStore& store;
  dist::Group& group = dist::Group::alone();
};

struct TrainerPlan {
  Schedule schedule;
  double peak_lr = 0;
  std::int64_t accumulation = 1;
  Cadence cadence = {};
  bool best_at_end = false;
  std::int64_t snapshot_steps = 0;  ///< 0: none
  std::int64_t rung_steps = 0;      ///< of the attention ladder; 0: the attention stays
  bool rungs_by_speed = true;       ///< the slower ones are left
  GuardOptions guard = {};
  /// Steps that were left out while the loss scale is being found have no gradient norm in the
  /// records: it is not finite, and no fault of the run.
  bool calibrates_in_silence = false;
  int threads = 1;
  std::int64_t vocab_size = 0;
  double flops_per_token = 0;  ///< of training; with peak_flops they give the MFU; 0: not told
  double peak_flops = 0;       ///< of all devices together
  /// Memory of the accelerator that is held; nothing on CPUs.
  std::function<std::optional<std::uint64_t>()> device_memory = {};
  std::uint64_t seed = 0;  ///< with several ranks: of each rank's and step's random numbers
  /// Where a sample stands in the user's files; empty: not told.
  std::function<std::string(std::uint64_t)> where = {};
  /// Told of every record that the journal gets; may be empty.
  std::function<void(const Record&)> seen = {};
  /// Called before the first step, when no rank refuses the run any more; may be empty. What it
  /// fails with ends the run.
  std::function<core::Result<void>()> begins = {};
  /// Asked between steps: true ends the run with a checkpoint.
  std::function<bool()> wants_stop = [] { return false; };
};

enum class Ending { complete, early_stop, interrupted, halted };

struct Outcome {
  Ending ending = Ending::complete;
  std::string reason;  ///< of a halt
  std::int64_t steps = 0;
  double last_loss = 0;
  std::optional<double> first_eval_loss, last_eval_loss;
  std::int64_t best_step = -1;
  bool healthy = true;
  GuardCounts guard;
};

class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerPlan plan);

  /// Puts everything back as checkpoint `folder` has it: the next step is the one that the
  /// uninterrupted run would have taken.
  core::Result<void> resume(const std::string& folder);
  /// Fails where the ranks do not fit together, or a checkpoint cannot be written; what was written
  /// before stays.
  core::Result<Outcome> run();

  std::int64_t step() const { return step_; }

 private:
  /// One global batch: its loss and the gradients of it, not yet applied.
  struct Pass {
    double loss = 0;
    std::int64_t counted = 0;
    std::int64_t tokens = 0;
    std::vector<std::uint64_t> samples;
  };
  Pass accumulate();
  /// The next micro-batches of this rank, counted over all ranks.
  std::vector<text::TokenBatch> draw(Pass& pass);
  /// Before the first step: are all ranks in the same run, with the same weights?
  core::Result<void> agree();
  bool stops() const { return group_.is_alone() ? plan_.wants_stop() : stop_agreed_; }
  std::span<const GuardGroup> judged_gradients();
  /// Judges the gradients and acts: true where the optimizer took the step.
  bool apply(const Pass& pass);
  void roll_back(const GuardVerdict& verdict);
  std::string batch_of(const Pass& pass);
  std::vector<std::uint64_t> samples_of_all(const Pass& pass);
  void clear_gradients();
  void log(const Pass& pass);
  std::optional<double> evaluate();
  /// After a step: evaluation, checkpoint. False: the run ends here.
  core::Result<bool> evaluate_and_save_if_due();
  core::Result<void> save();
  Outcome conclude(Ending ending);
  void tell(const std::vector<Said>& said);
  void tell(const GuardVerdict& verdict);
  void maybe_snapshot();
  void advance_attention(bool good, const Pass& pass, double seconds);
  TrainingState state_now() const;

  TrainerParts parts_;
  TrainerPlan plan_;
  dist::Group& group_;
  dist::GradientBuckets buckets_;
  Guard guard_;
  GradientScan scan_;
  LiveJudge judge_;
  AttentionLadder ladder_;
  std::optional<Snapshots> snapshots_;
  std::vector<GuardGroup> shared_groups_;  ///< those of rank 0
  bool stop_agreed_ = false;
  std::int64_t step_ = 0;
  double loss_scale_ = 1;
  bool calibrating_ = false;  ///< this step was left out to find the loss scale
  bool calibration_told_ = false;
  std::int64_t skipped_ = 0;
  std::int64_t calm_ = guard::k_sustained_run;  ///< steps in a row of which the guard said nothing
  std::int64_t snapshot_step_ = -1;             ///< of the latest in memory; -1: none
  double grad_norm_ = 0;
  double lr_ = 0;
  std::string halt_reason_;  ///< empty: not halted
  std::int64_t saved_at_ = -1;
  BestEvaluation evaluations_;
  MetricsWindow window_;  ///< since the last record
  double last_loss_ = 0;
};

}  // namespace aplomb::train::loop

#include "train/loop/run.h"

#include <fmt/format.h>

#include <thread>

#include "core/text.h"
#include "train/loop/atomic_folder.h"
#include "train/loop/diagnostic_session.h"
#include "train/loop/random_state.h"
#include "train/loop/result_folder.h"
#include "train/loop/session.h"
#include "train/loop/trainer.h"

namespace aplomb::train {
namespace {

constexpr int k_healthy = 0;
constexpr int k_found = 1;
constexpr int k_cannot = 2;

/// Of the device; 0: unknown.
double peak_flops_of(const Session& session) {
  const PrecisionFlags& flags = session.options.precision;
  if (flags.peak_tflops > 0) return 1e12 * flags.peak_tflops;
  const Placement& placement = session.placement;
  if (!placement.card) return 0;
  return peak_flops(*placement.card, placement.compute_name, uses_tf32(flags, placement.card));
}

GuardOptions guard_options(const TrainOptions& options, bool fp16) {
  GuardOptions guard;
  guard.max_norm = options.optim.max_grad_norm;
  guard.rollback_retries = static_cast<std::uint32_t>(options.guard.guard_rollbacks);
  guard.keeps_loss_scale = fp16;
  guard.initial_loss_scale = options.precision.loss_scale;
  if (options.guard.guard) return guard;
  guard.skip_nonfinite = fp16;  // a loss scale cannot be found without
  guard.spikes = guard.reset_momentum = guard.lower_lr = false;
  guard.rollback_retries = 0;
  guard.most_skips_in_a_row = 0;
  return guard;
}

TrainerPlan plan_of(const Session& session, const std::function<bool()>& wants_stop) {
  const TrainOptions& options = session.options;
  TrainerPlan plan{.schedule = Schedule(*schedule_shape(options.optim.lr_scheduler_type),
                                        warmup_steps(options.optim, session.steps.total),
                                        session.steps.total, options.optim.min_lr_ratio)};
  plan.peak_lr = options.peak_learning_rate();
  plan.accumulation = session.accumulation;
  plan.logging_steps = options.output.logging_steps;
  plan.save_steps = options.output.save_step;
  plan.eval_steps = options.output.eval_step;
  plan.patience = options.output.early_stop_patience;
  plan.best_at_end = options.output.load_best_model_at_end;
  plan.snapshot_steps = options.guard.guard_snapshot_steps;
  if (options.precision.attn_implementation == "auto")
    plan.rung_steps = options.precision.attention_rung_steps;
  plan.guard = guard_options(options, session.placement.compute_name == "fp16");
  plan.calibrates_in_silence = true;
  plan.threads = at::get_num_threads();
  plan.vocab_size = session.config.vocab_size;
  plan.flops_per_token = session.flops_per_token;
  plan.peak_flops = peak_flops_of(session);
  plan.device_memory = [device = session.placement.device] { return held_memory_bytes(device); };
  plan.where = [&data = *session.data.data](std::uint64_t sample) { return data.where(sample); };
  plan.wants_stop = wants_stop;
  return plan;
}

std::string summary_of(const Outcome& outcome) {
  // In words: `loss 0.75` would be read from the log as one more record.
  std::string text = fmt::format("done: {} steps, {:.4f} nats a token in the last", outcome.steps,
                                 outcome.last_loss);
  if (outcome.last_eval_loss) {
    text += fmt::format("; held out, the loss went from {:.4f} to {:.4f}", *outcome.first_eval_loss,
                        *outcome.last_eval_loss);
  }
  const GuardCounts& guard = outcome.guard;
  if (guard.skipped + guard.rollbacks > 0) {
    text += fmt::format("; the guard left {} steps out and went back {} times", guard.skipped,
                        guard.rollbacks);
  }
  return text;
}

/// After the last step: the result's folder, and what is to be said.
int conclude(Session& session, const CheckpointStore& store, const Outcome& outcome) {
  Journal& journal = *session.journal;
  const std::string& folder = session.options.output.output_dir;
  if (outcome.ending == Ending::halted) {
    journal.warn(
        fmt::format("halted at step {}: {}. The checkpoints before it are whole; "
                    "`aplomb diagnose {}` says why",
                    outcome.steps, outcome.reason, folder));
    return k_found;
  }
  if (outcome.ending == Ending::interrupted) {
    journal.warn(fmt::format("interrupted at step {}; --resume-from-checkpoint auto goes on",
                             outcome.steps));
    return k_found;
  }
  if (outcome.ending == Ending::early_stop)
    journal.say(
        fmt::format("stopped early: no better held-out loss since step {}", outcome.best_step));
  if (session.options.output.load_best_model_at_end && outcome.best_step >= 0 &&
      outcome.best_step != outcome.steps) {
    if (auto loaded = session.trainee->load(store.path_of(outcome.best_step)); !loaded) {
      journal.warn(loaded.error().text);
      return k_cannot;
    }
    journal.say(fmt::format("the result is that of step {}", outcome.best_step));
  }
  const auto saved = save_result(*session.trainee, session.options);
  if (!saved) {
    journal.warn(saved.error().text);
    return k_cannot;
  }
  journal.say(summary_of(outcome));
  journal.say("result: " + *saved);
  return outcome.healthy ? k_healthy : k_found;
}

Result<Outcome> train(Session& session, const CheckpointStore& store,
                      const std::function<bool()>& wants_stop) {
  const auto optimizer = make_optimizer(session.trainee->trainable(), session.options.optim,
                                        session.options.peak_learning_rate());
  Trainer trainer({*session.trainee, *optimizer, *session.data.train, session.data.eval.get(),
                   *session.journal, store},
                  plan_of(session, wants_stop));
  if (session.resumed_from) {
    if (auto resumed = trainer.resume(*session.resumed_from); !resumed)
      return tl::unexpected(resumed.error());
    session.journal->say(fmt::format("Resuming from checkpoint {} at step {}",
                                     *session.resumed_from, trainer.step()));
  }
  return trainer.run();
}

int complain(Session* session, const Error& error) {
  if (session != nullptr && session->journal) {
    session->journal->warn(sanitize(error.text));
  } else {
    fmt::print(stderr, "aplomb train: {}\n", sanitize(error.text));
  }
  return k_cannot;
}

}  // namespace

int run_training(const TrainOptions& options, const std::function<bool()>& wants_stop) {
  const std::int64_t threads = options.precision.threads;
  at::set_num_threads(
      static_cast<int>(threads > 0 ? threads : std::thread::hardware_concurrency()));
  seed_all(options.length.seed);
  const CheckpointStore store(options.output.output_dir, options.output.save_total_limit);
  auto session = open_session(options, store);
  if (!session) return complain(nullptr, session.error());
  remove_unfinished(options.output.output_dir);
  if (auto told = introduce(*session); !told) return complain(&*session, told.error());
  if (!judge(*session)) return k_cannot;
  if (is_diagnostic(options)) {
    const auto answer = run_diagnostic(*session);
    if (!answer) return complain(&*session, answer.error());
    return *answer ? k_healthy : k_found;
  }
  if (auto opened = open_weights(*session); !opened) return complain(&*session, opened.error());
  if (options.guard.dry_run) return k_healthy;
  const auto outcome = train(*session, store, wants_stop);
  if (!outcome) return complain(&*session, outcome.error());
  return conclude(*session, store, *outcome);
}

}  // namespace aplomb::train

#include "train/loop/run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "core/text.h"
#include "train/loop/diagnostic_session.h"
#include "train/loop/random_state.h"
#include "train/loop/result_folder.h"
#include "train/loop/session.h"
#include "train/loop/trainer.h"

namespace aplomb::train::loop {
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

TrainerPlan plan_of(Session& session, const std::function<bool()>& wants_stop) {
  const TrainOptions& options = session.options;
  TrainerPlan plan{.schedule = Schedule(*schedule_shape(options.optim.lr_scheduler_type),
                                        warmup_steps(options.optim, session.steps.total),
                                        session.steps.total, options.optim.min_lr_ratio)};
  plan.peak_lr = options.peak_learning_rate();
  plan.accumulation = session.accumulation;
  plan.cadence.logging_steps = options.output.logging_steps;
  plan.cadence.save_steps = options.output.save_step;
  plan.cadence.eval_steps = options.output.eval_step;
  plan.cadence.patience = options.output.early_stop_patience;
  plan.best_at_end = options.output.load_best_model_at_end;
  plan.snapshot_steps = options.guard.guard_snapshot_steps;
  if (options.precision.attn_implementation == "auto")
    plan.rung_steps = options.precision.attention_rung_steps;
  plan.rungs_by_speed = options.precision.attention_by_speed;
  plan.guard = guard_options(options, session.placement.compute_name == "fp16");
  plan.calibrates_in_silence = true;
  plan.threads = at::get_num_threads();
  plan.vocab_size = session.config.vocab_size;
  plan.flops_per_token = session.flops_per_token;
  plan.peak_flops = peak_flops_of(session) * session.group->size();
  plan.device_memory = [device = session.placement.device] { return held_memory_bytes(device); };
  plan.seed = options.length.seed;
  plan.where = [&data = *session.data.data](std::uint64_t sample) { return data.where(sample); };
  plan.begins = [&session] { return take_folder(session); };
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
  if (!session.group->is_first()) return k_healthy;
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

core::Result<Outcome> train(Session& session, const CheckpointStore& store,
                            const std::function<bool()>& wants_stop) {
  const auto optimizer = make_optimizer(session.trainee->trainable(), session.options.optim,
                                        session.options.peak_learning_rate());
  Trainer trainer({*session.trainee, *optimizer, *session.data.train, session.data.eval.get(),
                   *session.journal, store, *session.group},
                  plan_of(session, wants_stop));
  if (session.resumed_from) {
    if (auto resumed = trainer.resume(*session.resumed_from); !resumed)
      return tl::unexpected(resumed.error());
    session.journal->say(fmt::format("Resuming from checkpoint {} at step {}",
                                     *session.resumed_from, trainer.step()));
  }
  return trainer.run();
}

/// How a rank ended, before the others have heard of it.
struct Exit {
  int status = k_healthy;
  std::string reason = {};  ///< of k_cannot: for people, and already told where `told`
  bool told = false;
};

Exit cannot(const core::Error& error) { return {k_cannot, core::sanitize(error.text)}; }

Exit run_rank(std::optional<Session>& session, const TrainOptions& options, dist::Group& group,
              const std::function<bool()>& wants_stop) {
  const CheckpointStore store(options.output.output_dir, options.output.save_total_limit);
  auto opened = open_session(options, store, group);
  if (!opened) return cannot(opened.error());
  session.emplace(std::move(*opened));
  if (auto told = introduce(*session); !told) return cannot(told.error());
  if (!judge(*session)) return {k_cannot, "the run does not fit into memory", true};
  if (is_diagnostic(options)) {
    const auto answer = run_diagnostic(*session);
    if (!answer) return cannot(answer.error());
    return {*answer ? k_healthy : k_found};
  }
  if (auto weights = open_weights(*session); !weights) return cannot(weights.error());
  if (options.guard.dry_run) return {};
  const auto outcome = train(*session, store, wants_stop);
  if (!outcome) return cannot(outcome.error());
  return {conclude(*session, store, *outcome), "its result could not be written", true};
}

/// run_rank(), with what it throws as its reason: the other ranks are to hear it.
Exit run_to_the_end(std::optional<Session>& session, const TrainOptions& options,
                    dist::Group& group, const std::function<bool()>& wants_stop) {
  try {
    return run_rank(session, options, group, wants_stop);
  } catch (const dist::GroupLost& lost) {
    return {k_cannot, fmt::format("{}. The run ends; the checkpoints are whole, and "
                                  "--resume-from-checkpoint auto goes on from the latest",
                                  core::sanitize(lost.what()))};
  } catch (const std::bad_alloc&) {
    if (group.is_alone()) throw;
    return {k_cannot, "out of memory"};
  } catch (const c10::Error& fault) {
    if (group.is_alone()) throw;
    return {k_cannot, core::sanitize(fault.what_without_backtrace())};
  } catch (const std::exception& fault) {
    if (group.is_alone()) throw;
    return {k_cannot, core::sanitize(fault.what())};
  }
}

void complain(std::optional<Session>& session, const std::string& text) {
  if (session && session->journal && session->group->is_first()) {
    session->journal->warn(text);
  } else {
    fmt::print(stderr, "aplomb train: {}\n", text);
  }
}

/// Rank 0 speaks for all; another one only where rank 0 cannot.
int leave(std::optional<Session>& session, dist::Group& group, const Exit& end) {
  const bool failed = end.status == k_cannot;
  if (failed && !end.told && group.is_first()) complain(session, end.reason);
  std::string unheard;
  const int status = group.leave(end.status, failed ? end.reason : std::string(), &unheard);
  if (!unheard.empty()) complain(session, unheard);
  return status;
}

/// Cores of this process, or its share where no launcher bound the ranks to cores of their own.
int usual_threads(const dist::World& world) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < cores)
    return CPU_COUNT(&set);
  return std::max(cores / world.local_size, 1);
}

core::Result<std::unique_ptr<dist::Group>> join(const TrainOptions& options,
                                                const dist::World& world) {
  if (is_diagnostic(options) && world.size > 1)
    return core::fail(core::ErrorCode::bad_usage, "[options] a diagnostic run takes one rank");
  dist::GroupOptions how;
  how.on_stuck = [](const std::string& reason) {  // too deep in a computation to notice
    fmt::print(stderr, "aplomb train: {}; the run ends\n", reason);
    std::_Exit(k_cannot);
  };
  return dist::Group::join(world, how);
}

}  // namespace

int run_training(const TrainOptions& options, const std::function<bool()>& wants_stop) {
  std::optional<Session> session;
  const auto world = dist::world_from([](const char* name) { return std::getenv(name); });
  if (!world) {
    complain(session, world.error().text);
    return k_cannot;
  }
  const std::int64_t threads = options.precision.threads;
  at::set_num_threads(threads > 0 ? static_cast<int>(threads) : usual_threads(*world));
  seed_all(options.length.seed);
  const auto group = join(options, *world);
  if (!group) {
    const bool same_for_all = group.error().code == core::ErrorCode::bad_usage;
    if (world->rank == 0 || !same_for_all) complain(session, core::sanitize(group.error().text));
    return k_cannot;
  }
  const Exit end = run_to_the_end(session, options, **group, wants_stop);
  return leave(session, **group, end);
}

}  // namespace aplomb::train::loop

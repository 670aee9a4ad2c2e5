#include "train/loop/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/version.h"
#include "train/loop/atomic_folder.h"
#include "train/loop/before_run.h"
#include "train/loop/machine.h"
#include "train/loop/run_settings.h"
#include "train/loop/training_state.h"

namespace aplomb::train::loop {
namespace {

core::Result<void> open_journal(Session& session, const CheckpointStore& store) {
  const OutputFlags& output = session.options.output;
  auto from = store.find(output.resume_from_checkpoint);
  if (!from) return tl::unexpected(from.error());
  session.resumed_from = *from;
  JournalOptions how{output.output_dir, output.tensorboard || output.wandb_online, output.quiet,
                     session.steps.total};
  how.absent = !session.group->is_first();
  how.waits = true;
  if (*from) {
    const auto state = read_training_state(**from + "/" + k_training_state_file);
    if (!state) return tl::unexpected(state.error());
    how.resumed_step = state->step;
  }
  auto journal = Journal::open(std::move(how));
  if (!journal) return tl::unexpected(journal.error());
  session.journal.emplace(std::move(*journal));
  return {};
}

RunSizes sizes_of(const Session& session) {
  RunSizes sizes;
  sizes.world = session.group->size();
  sizes.samples = session.data.train_samples;
  sizes.eval_samples = session.data.eval_samples;
  sizes.total_steps = session.steps.total;
  sizes.longest = session.options.data.packing ? 0 : session.data.data->longest();
  sizes.pad_id = session.data.codec->pad;
  sizes.eos_id = session.data.codec->eos.value_or(-1);
  sizes.compute = session.placement.compute_name;
  sizes.on_gpu = session.placement.device.is_cuda();
  sizes.tf32 = uses_tf32(session.options.precision, session.placement.card);
  if (session.placement.card) sizes.gpu = session.placement.card->name;
  return sizes;
}

/// What other trainers do under these flags, and what is done here.
std::vector<const char*> done_otherwise(const TrainOptions& options) {
  std::vector<const char*> said;
  if (options.precision.attn_implementation == "flash_attention_2")
    said.push_back(
        "attention: flash_attention_2 is the flash kernel of sdpa here; where it cannot run (on "
        "CPUs, "
        "with packed samples) sdpa takes its memory-efficient one");
  if (options.precision.enable_torch_compile)
    said.push_back(
        "compile: left out. torch.compile traces Python code, and this trainer has none");
  if (options.output.wandb_online)
    said.push_back(
        "wandb: no connection is opened from here. After the run `wandb sync --sync-tensorboard` "
        "with the output folder uploads the event file");
  return said;
}

}  // namespace

TrainOptions in_force(const Session& session) {
  TrainOptions options = session.options;
  options.optim.learning_rate = options.peak_learning_rate();
  options.optim.warmup_steps = warmup_steps(options.optim, session.steps.total);
  options.precision.precision = session.placement.compute_name;
  options.precision.bf16 = options.precision.fp16 = options.precision.fp32 = false;
  return options;
}

core::Result<Session> open_session(const TrainOptions& options, const CheckpointStore& store,
                                   dist::Group& group) {
  Session session;
  session.group = &group;
  session.options = options;
  auto placement = choose_placement(options.precision, group.world().local_rank);
  if (!placement) return tl::unexpected(placement.error());
  session.placement = std::move(*placement);
  allow_kernels(options.precision);
  auto config = model::read_model_config(
      options.model.init_random.empty() ? options.model.base_model : options.model.init_random);
  if (!config) return tl::unexpected(config.error());
  session.config = std::move(*config);
  const LengthFlags& length = options.length;
  const std::int64_t ranks = group.size();
  const std::int64_t rows = rows_of_a_pass(length, ranks);
  if (length.batch_size % (rows * ranks) != 0) {
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[options] --batch-size {} is no multiple of {} ranks times "
                                  "--per-device-train-batch-size {}",
                                  length.batch_size, ranks, rows));
  }
  auto data = open_data(options, session.config.vocab_size, group.rank(), ranks);
  if (!data) return tl::unexpected(data.error());
  session.data = std::move(*data);
  session.accumulation = length.batch_size / (rows * ranks);
  session.steps =
      step_counts(length, session.data.train->batches_per_epoch(), session.accumulation);
  if (auto opened = open_journal(session, store); !opened) return tl::unexpected(opened.error());
  return session;
}

core::Result<void> introduce(Session& session) {
  if (!session.group->is_first()) return {};
  Journal& journal = *session.journal;
  const TrainOptions options = in_force(session);
  const std::int64_t ranks = session.group->size();
  journal.say(fmt::format("aplomb train {}: {} on {}, products in {} ({})", core::version(),
                          options.adapter.adapter_name, session.placement.device.str(),
                          session.placement.compute_name, session.placement.why));
  for (const std::string& each : session.data.notices) journal.say("data: " + each);
  for (const char* each : done_otherwise(options)) journal.warn(each);
  journal.say(fmt::format(
      "run: {} samples, {} held out; {} steps of {} samples ({} passes of {}{}); peak learning "
      "rate "
      "{:g}, {} steps of warm-up, then {}",
      session.data.train_samples, session.data.eval_samples, session.steps.total,
      options.length.batch_size, session.accumulation, rows_of_a_pass(options.length, ranks),
      ranks > 1 ? fmt::format(" on each of {} ranks", ranks) : "", options.optim.learning_rate,
      options.optim.warmup_steps, options.optim.lr_scheduler_type));
  // A folder of its own has nothing to lose: what is said until the first step is to be kept there.
  return journal.has_begun() ? take_folder(session) : core::Result<void>();
}

core::Result<void> take_folder(Session& session) {
  if (session.took_folder || !session.group->is_first()) return {};
  session.took_folder = true;
  if (auto begun = session.journal->begin(); !begun) return begun;
  const std::string& folder = session.options.output.output_dir;
  remove_unfinished(folder);
  return write_synced(folder + "/train.yaml", options_yaml(in_force(session)));
}

bool judge(Session& session) {
  const auto settings = canonical_settings(in_force(session), session.config, sizes_of(session));
  session.flops_per_token = flops_per_token(settings).value_or(0);
  if (session.options.guard.no_check || !session.group->is_first()) return true;
  const torch::Device& device = session.placement.device;
  // The ranks of a machine share its memory; each has a GPU of its own.
  const double free_bytes =
      device.is_cpu() ? static_cast<double>(available_bytes()) / session.group->world().local_size
                      : static_cast<double>(free_memory_bytes(device).value_or(0));
  const Forecast forecast = judge_before(settings, free_bytes);
  for (const Said& each : forecast.said) {
    if (each.severity >= core::Severity::warning) {
      session.journal->warn(each.text);
    } else {
      session.journal->say(each.text);
    }
  }
  return forecast.fits;
}

core::Result<void> open_weights(Session& session) {
  auto trainee = LlamaTrainee::open(session.options, session.placement);
  if (!trainee) return tl::unexpected(trainee.error());
  session.trainee = std::move(*trainee);
  session.group->use(session.placement.device);
  session.journal->say(fmt::format("model: {}, {} of {} parameters train",
                                   session.config.architecture, session.trainee->trainable_count(),
                                   model::parameter_count(session.config)));
  return {};
}

}  // namespace aplomb::train::loop

/// A LabRun, run: train/loop's Trainer with hooks around model and optimizer.

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "train/lab/evidence.h"
#include "train/lab/lab_run.h"
#include "train/lab/lab_trainee.h"
#include "train/lab/user_files.h"
#include "train/loop/data_setup.h"
#include "train/loop/random_state.h"
#include "train/loop/schedule_plan.h"
#include "train/model/initialise.h"

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;

core::Result<void> write_file(const fs::path& path, std::string_view text) {
  std::error_code why;
  fs::create_directories(path.parent_path(), why);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  if (!file)
    return core::fail(core::ErrorCode::not_writable,
                      "[lab] " + path.string() + " cannot be written");
  return {};
}

/// The files that the run reads: `options` name them below `folder`, where the user has them.
core::Result<loop::TrainOptions> lay_out(const LabRun& lab, const fs::path& folder) {
  loop::TrainOptions options = lab.options;
  const auto place = [&](std::string& name) { name = (folder / name).string(); };
  place(options.model.tokenizer);
  place(options.data.data_path);
  place(options.data.eval_data_path);
  const fs::path model = options.model.tokenizer;
  const std::pair<fs::path, std::string> files[] = {
      {model / "config.json", lab.model.text},
      {model / "tokenizer.json", tokenizer_json()},
      {model / "tokenizer_config.json",
       R"({"bos_token": "<|begin|>", "eos_token": "<|end|>", "pad_token": "<|pad|>"})"},
      {options.data.data_path, jsonl_of(training_examples(lab.language))},
      {options.data.eval_data_path, jsonl_of(held_out_examples(lab.language))},
  };
  for (const auto& [path, text] : files) {
    if (auto done = write_file(path, text); !done) return tl::unexpected(done.error());
  }
  return options;
}

GuardOptions guard_of(const LabRun& lab, bool in_force) {
  GuardOptions guard;
  guard.max_norm = lab.options.optim.max_grad_norm;
  guard.keeps_loss_scale = lab.options.precision.fp16;
  if (in_force) return guard;
  // What any loop has: clipping, and with fp16 the loss scale.
  guard.skip_nonfinite = guard.keeps_loss_scale;
  guard.spikes = guard.reset_momentum = guard.lower_lr = false;
  guard.rollback_retries = 0;
  guard.most_skips_in_a_row = 0;
  return guard;
}

/// One process of the run: from its start or a checkpoint to its end or the next stop.
class Leg {
 public:
  Leg(const LabRun& lab, const Request& request, const loop::TrainOptions& options, Trace& trace)
      : lab_(lab), request_(request), options_(options), trace_(trace) {}

  /// Up to `stop_at` (0: the end), from checkpoint `from` (empty: the start).
  core::Result<void> run(std::int64_t stop_at, const std::string& from) {
    loop::seed_all(lab_.seed);
    auto data = loop::open_data(options_, lab_.model.vocab_size, 0, 1);
    if (!data) return tl::unexpected(data.error());
    auto model = std::make_shared<model::LanguageModel>(lab_.model, lab_.how);
    model::initialise_weights(*model);
    model->train_all_parameters();
    if (lab_.hooks.start) lab_.hooks.start(*model);
    LabTrainee trainee(model, lab_);
    const auto optimizer = make_lab_optimizer(lab_, options_, trainee);
    const loop::CheckpointStore store(request_.folder + "/work", 2);
    auto journal =
        loop::Journal::open({request_.folder + "/work", false, true, options_.length.max_steps,
                             from.empty() ? -1 : trace_.steps, true});
    if (!journal) return tl::unexpected(journal.error());
    loop::Trainer trainer({trainee, *optimizer, *data->train, data->eval.get(), *journal, store},
                          plan_of(stop_at));
    trainee.follow(trainer, *data->train);
    trainer_ = &trainer;
    if (!from.empty()) {
      if (auto resumed = trainer.resume(from); !resumed) return resumed;
      trace_.resumed_at.push_back(trainer.step());
      std::vector<loop::NamedTensor> parameters = trainee.trainable();
      if (lab_.hooks.restart)
        lab_.hooks.restart({parameters, *optimizer, *data->train, trainer.step(), schedule_back_});
    }
    return train(trainer);
  }

 private:
  loop::TrainerPlan plan_of(std::int64_t stop_at) {
    const loop::OptimFlags& optim = options_.optim;
    const std::int64_t total = options_.length.max_steps;
    const std::int64_t warmup = loop::warmup_steps(optim, total);
    const loop::Schedule usual(*loop::schedule_shape(optim.lr_scheduler_type), warmup, total,
                               optim.min_lr_ratio);
    const auto factor = [this, usual](std::int64_t step) {
      const std::int64_t at = std::max<std::int64_t>(step - schedule_back_, 0);
      return lab_.hooks.schedule ? lab_.hooks.schedule(at) : usual.factor(at);
    };
    loop::TrainerPlan plan{.schedule = loop::Schedule(warmup, total, factor)};
    plan.peak_lr = options_.peak_learning_rate();
    plan.accumulation = options_.length.batch_size / options_.length.per_device_train_batch_size;
    plan.cadence.logging_steps = options_.output.logging_steps;
    plan.cadence.save_steps = options_.output.save_step;
    plan.cadence.eval_steps = options_.output.eval_step;
    plan.guard = guard_of(lab_, request_.guard);
    plan.snapshot_steps = request_.guard ? options_.guard.guard_snapshot_steps : 0;
    if (request_.guard) plan.cadence.patience = lab_.guard_patience;
    plan.best_at_end = plan.cadence.patience > 0;
    plan.vocab_size = lab_.model.vocab_size;
    plan.seen = [this](const loop::Record& record) { keep(record); };
    plan.wants_stop = [this, stop_at] {
      return stop_at > 0 && trainer_ != nullptr && trainer_->step() == stop_at;
    };
    return plan;
  }

  void keep(const loop::Record& record) {
    Sample sample{record.step, {}};
    const auto put = [&](const char* name, const std::optional<double>& value) {
      if (value) sample.values.emplace_back(name, *value);
    };
    put("loss", record.loss);
    put("grad_norm", record.grad_norm);
    put("lr", record.lr);
    put("epoch", record.epoch);
    put("loss_scale", record.loss_scale);
    put("eval_loss", record.eval_loss);
    trace_.samples.push_back(std::move(sample));
  }

  core::Result<void> train(loop::Trainer& trainer) {
    try {
      const auto outcome = trainer.run();
      if (!outcome) return tl::unexpected(outcome.error());
      trace_.halted = outcome->ending == loop::Ending::halted;
      if (request_.guard && lab_.guard_patience > 0) trace_.result_step = outcome->best_step;
    } catch (const c10::IndexError& fault) {
      trace_.error = std::string("IndexError: ") + fault.what_without_backtrace();
    } catch (const c10::Error& fault) {
      trace_.error = std::string("RuntimeError: ") + fault.what_without_backtrace();
    }
    trace_.steps = trainer.step();
    return {};
  }

  const LabRun& lab_;
  const Request& request_;
  const loop::TrainOptions& options_;
  Trace& trace_;
  loop::Trainer* trainer_ = nullptr;
  std::int64_t schedule_back_ = 0;
};

/// The steps of the lines in which the trainer's log says that the guard did something.
std::vector<std::int64_t> acts_in(const fs::path& log) {
  std::vector<std::int64_t> acts;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    long long step = 0;
    char act[16] = {};
    if (std::sscanf(line.c_str(), "guard: step %lld: %15[a-z]", &step, act) != 2) continue;
    // A rate that is lowered changes the step as well as one that is left out.
    const bool lowers = line.find(": proceed (lower_lr): ") != std::string::npos;
    if (lowers || std::string_view(act) != "proceed") acts.push_back(step);
  }
  return acts;
}

}  // namespace

core::Result<Trace> run_lab(const LabRun& lab, const Request& request) {
  at::set_num_threads(1);
  const UserFiles user = files_of(lab, request);
  auto options = lay_out(lab, fs::path(request.folder) / "before");
  if (!options) return tl::unexpected(options.error());
  if (auto written = write_before(user, request); !written) return tl::unexpected(written.error());
  // As each trainer's users have it: their own loops print each step, Trainer's users less often.
  if (request.style == Style::hf) options->output.logging_steps = 2;
  Trace trace;
  trace.planned_steps = options->length.max_steps;
  trace.log_steps = options->output.logging_steps;
  trace.grad_clip = options->optim.max_grad_norm;
  trace.vocab_size = static_cast<double>(lab.model.vocab_size);
  const auto leg = [&](std::int64_t stop_at, const std::string& from) {
    return Leg(lab, request, *options, trace).run(stop_at, from);
  };
  if (auto done = leg(lab.restart_at, ""); !done) return tl::unexpected(done.error());
  if (lab.restart_at > 0 && trace.error.empty() && !trace.halted) {
    const loop::CheckpointStore store(request.folder + "/work", 2);
    if (auto done = leg(0, store.path_of(lab.restart_at)); !done)
      return tl::unexpected(done.error());
  }
  trace.guard_acts = acts_in(fs::path(request.folder) / "work" / "train.log");
  if (!trace.guard_acts.empty()) trace.guard_acted_at = trace.guard_acts.front();
  if (lab.hooks.logged) lab.hooks.logged(trace);
  if (!request.keep_evidence) return trace;
  if (auto written = write_evidence(user, trace, request); !written)
    return tl::unexpected(written.error());
  return trace;
}

}  // namespace aplomb::train::lab

#include "train/loop/diagnostic_session.h"

#include <fmt/format.h>

#include "train/loop/diagnostic_runs.h"
#include "train/loop/random_state.h"

namespace aplomb::train::loop {
namespace {

constexpr std::int64_t k_minimal_steps = 20;
constexpr std::int64_t k_precision_steps = 40;

/// A fresh model: each run starts from the same weights and random numbers.
core::Result<std::unique_ptr<LlamaTrainee>> fresh(Session& session, const TrainOptions& options,
                                                  const Placement& placement) {
  seed_all(options.length.seed);
  if (auto found = session.data.train->seek({}); !found) return tl::unexpected(found.error());
  auto trainee = LlamaTrainee::open(options, placement);
  if (!trainee) return trainee;
  if (auto taken = take_folder(session); !taken) return tl::unexpected(taken.error());
  return trainee;
}

/// The records of a probe, so that `aplomb diagnose` and charts can be asked about it as well.
void record(Session& session, const std::vector<ProbeStep>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Record each;
    each.step = static_cast<std::int64_t>(i) + 1;
    each.loss = steps[i].loss;
    each.grad_norm = steps[i].grad_norm;
    each.lr = steps[i].lr;
    session.journal->record(each);
  }
}

/// Dropout and the like off: what is asked is about arithmetic.
TrainOptions exact(TrainOptions options) {
  options.adapter.lora_dropout = 0;
  return options;
}

core::Result<Answer> overfit(Session& session) {
  auto trainee = fresh(session, exact(session.options), session.placement);
  if (!trainee) return tl::unexpected(trainee.error());
  std::vector<ProbeStep> seen;
  Answer answer = overfit_one_batch(**trainee, session.data.train->next(),
                                    session.options.peak_learning_rate(), &seen);
  record(session, seen);
  return answer;
}

core::Result<Answer> range(Session& session) {
  auto trainee = fresh(session, session.options, session.placement);
  if (!trainee) return tl::unexpected(trainee.error());
  std::vector<ProbeStep> seen;
  const RangeTest test =
      lr_range_test(**trainee, [&](std::int64_t) { return session.data.train->next(); }, &seen);
  record(session, seen);
  return test.answer;
}

/// The same batches at the peak learning rate after a short warm-up.
ProbePlan usual_plan(Session& session, std::int64_t steps) {
  ProbePlan plan;
  plan.steps = steps;
  plan.max_grad_norm = session.options.optim.max_grad_norm;
  const double peak = session.options.peak_learning_rate();
  plan.lr = [peak](std::int64_t step) {
    return peak * std::min(1.0, static_cast<double>(step + 1) / 10);
  };
  plan.batch = [&session](std::int64_t) { return session.data.train->next(); };
  return plan;
}

core::Result<Answer> minimal(Session& session) {
  TrainOptions options = exact(session.options);
  options.precision.attn_implementation = "eager";
  Placement placement = session.placement;
  placement.compute = torch::kFloat32;
  placement.compute_name = "fp32";
  auto trainee = fresh(session, options, placement);
  if (!trainee) return tl::unexpected(trainee.error());
  const std::vector<ProbeStep> steps = probe(**trainee, usual_plan(session, k_minimal_steps));
  record(session, steps);
  return judge_minimal(steps);
}

core::Result<Answer> precisions(Session& session) {
  std::vector<PrecisionRun> runs;
  for (const auto& [name, type] : {std::pair{"fp32", torch::kFloat32},
                                   {"bf16", torch::kBFloat16},
                                   {"fp16", torch::kFloat16}}) {
    Placement placement = session.placement;
    placement.compute = type;
    placement.compute_name = name;
    auto trainee = fresh(session, exact(session.options), placement);
    if (!trainee) return tl::unexpected(trainee.error());
    runs.push_back({name, probe(**trainee, usual_plan(session, k_precision_steps))});
  }
  record(session, runs.front().steps);
  return compare_precisions(runs);
}

}  // namespace

bool is_diagnostic(const TrainOptions& options) {
  const DiagnosticFlags& flags = options.diagnostic;
  return flags.minimal || flags.overfit_one_batch || flags.lr_range_test || flags.compare_precision;
}

core::Result<bool> run_diagnostic(Session& session) {
  const DiagnosticFlags& flags = session.options.diagnostic;
  const struct {
    bool wanted;
    const char* name;
    core::Result<Answer> (*run)(Session&);
  } all[] = {{flags.minimal, "minimal run", minimal},
             {flags.overfit_one_batch, "overfit one batch", overfit},
             {flags.lr_range_test, "learning-rate range test", range},
             {flags.compare_precision, "precisions compared", precisions}};
  bool good = true;
  for (const auto& each : all) {
    if (!each.wanted) continue;
    const auto answer = each.run(session);
    if (!answer) return tl::unexpected(answer.error());
    good = good && answer->good;
    session.journal->warn(fmt::format("verdict of the {}: {}", each.name, answer->verdict));
  }
  return good;
}

}  // namespace aplomb::train::loop

#include "checkpoint/resume_audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

std::optional<double> value(const std::map<std::string, double>& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

/// The largest step count that the optimizer holds.
std::optional<double> optimizer_step(const Checkpoint& checkpoint) {
  if (!checkpoint.optimizer) return std::nullopt;
  std::optional<double> most;
  for (const ParameterState& each : checkpoint.optimizer->states) {
    if (each.step) most = std::max(most.value_or(0), *each.step);
  }
  return most;
}

ResumePart part(const char* role, bool present, core::Severity severity, std::string detail,
                std::string consequence) {
  return {role, present, severity, std::move(detail), present ? "" : std::move(consequence)};
}

/// A trainer that counts micro-batches has the optimizer step at every k-th: 754 of them are 188 steps
/// at an accumulation of 4. Powers of two up to 1024 are what people set; others are too many to tell
/// an accumulation from two moments.
bool accumulates(double taken, double global) {
  for (double times = 2; times <= 1024; times *= 2) {
    if (taken == std::floor(global / times)) return true;
  }
  return false;
}

void compare_steps(const Checkpoint& checkpoint, ResumeAudit& audit) {
  const auto global = value(checkpoint.trainer_state, "global_step");
  if (!global || *global <= 0) return;
  // Accelerate steps the scheduler once for each process: a whole multiple is right.
  if (const auto last = value(checkpoint.scheduler, "last_epoch"); last) {
    const double times = *last / *global;
    const bool of_updates = optimizer_step(checkpoint) == last && accumulates(*last, *global);
    if ((times < 1 || times != std::floor(times)) && !of_updates) {
      audit.disagreements.push_back(
          fmt::format("the scheduler stands at {} and the trainer at step {}: the learning rate "
                      "will jump",
                      core::show_number(*last), core::show_number(*global)));
    }
  }
  // fp16 skips steps, so the optimizer may have taken somewhat fewer.
  if (const auto taken = optimizer_step(checkpoint);
      taken && (*taken > *global || *taken < 0.9 * *global) && !accumulates(*taken, *global)) {
    audit.disagreements.push_back(
        fmt::format("the optimizer has taken {} steps and the trainer counts {}: the state is of "
                    "another moment, or was rebuilt in between",
                    core::show_number(*taken), core::show_number(*global)));
  }
}

/// Schedulers write the rate into the optimizer's groups: saved together they agree.
void compare_rates(const Checkpoint& checkpoint, ResumeAudit& audit) {
  const auto scheduled = value(checkpoint.scheduler, "last_lr");
  if (!scheduled || !checkpoint.optimizer || checkpoint.optimizer->groups.empty()) return;
  const auto held = value(checkpoint.optimizer->groups.front().numbers, "lr");
  constexpr double k_tolerance = 0.01;  // far above the rounding of either file
  if (!held || std::fabs(*held - *scheduled) <= k_tolerance * std::max(*held, *scheduled)) return;
  audit.disagreements.push_back(
      fmt::format("the optimizer's learning rate is {} and the scheduler's {}: they were saved at "
                  "different moments, and the rate will jump (resume.lr_jump)",
                  core::show_number(*held), core::show_number(*scheduled)));
}

/// How many processes saved it, as its random states or its shards say.
void compare_world(const Checkpoint& checkpoint, std::size_t world, ResumeAudit& audit) {
  double saved = value(checkpoint.trainer_state, "dp_world_size").value_or(0);
  for (const int rank : checkpoint.rng_ranks) saved = std::max(saved, rank + 1.0);
  if (world == 0 || saved == 0 || saved == static_cast<double>(world)) return;
  audit.disagreements.push_back(
      fmt::format("{} processes saved it and {} will resume: the global batch and the order of the "
                  "data change, random states of {} ranks do not fit; keep the global batch by "
                  "accumulation",
                  core::show_number(saved), world, core::show_number(saved)));
}

/// Trainers that leave a trainer_state.json or training_state.json find their batch by its step; a
/// loop of one's own has to say where it stood.
ResumePart data_part(const Checkpoint& checkpoint) {
  std::string detail = fmt::format("{}", fmt::join(checkpoint.data_position, ", "));
  if (detail.empty() && checkpoint.has(FileRole::trainer_state))
    detail = "the trainer goes on behind the batch of its step";
  const bool there = !detail.empty();
  return part("data-position", there, core::Severity::warning, std::move(detail),
              "nothing says which batches were seen: after the resume the epoch starts from its "
              "first batch, and part of the data is seen twice or never (resume.step_back); save "
              "the sampler's or the loader's state, or the number of samples consumed");
}

std::string rng_detail(const Checkpoint& checkpoint) {
  const std::size_t ranks = checkpoint.rng_ranks.size();
  std::string detail = fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
  if (!checkpoint.generators.empty())
    detail += fmt::format(": {}", fmt::join(checkpoint.generators, ", "));
  return detail;
}

std::string optimizer_detail(const Checkpoint& checkpoint) {
  if (!checkpoint.optimizer) return "";
  return fmt::format("{} groups, state of {} parameters", checkpoint.optimizer->groups.size(),
                     checkpoint.optimizer->states.size());
}

/// A schedule for one of two optimizers may be meant so: it is said, and no disagreement.
std::string scheduler_detail(const Checkpoint& checkpoint) {
  const auto lr = value(checkpoint.scheduler, "last_lr");
  std::string detail = lr ? fmt::format("learning rate {}", core::show_number(*lr)) : "";
  const double schedules = value(checkpoint.scheduler, "schedules").value_or(0);
  const std::size_t optimizers = checkpoint.optimizer ? checkpoint.optimizer->optimizers : 0;
  if (optimizers < 2 || schedules < 1) return detail;
  return detail + fmt::format("{}{} schedule{} for {} optimizers", detail.empty() ? "" : ", ",
                              core::show_number(schedules), schedules == 1 ? "" : "s", optimizers);
}

std::string step_detail(const Checkpoint& checkpoint, double global) {
  std::string detail = fmt::format("step {}", core::show_number(global));
  const auto taken = optimizer_step(checkpoint);
  if (taken && *taken > 0 && accumulates(*taken, global))
    detail += fmt::format(", {} of the optimizer: {} micro-batches each", core::show_number(*taken),
                          core::show_number(std::floor(global / *taken)));
  return detail;
}

}  // namespace

bool ResumeAudit::complete() const {
  return std::all_of(parts.begin(), parts.end(), [](const ResumePart& each) {
    return each.present || each.severity == core::Severity::note;
  });
}

ResumeAudit audit_resume(const Checkpoint& checkpoint, std::size_t world) {
  ResumeAudit audit;
  const bool weights = !checkpoint.tensors.empty();
  audit.parts.push_back(
      part("weights", weights, core::Severity::failed,
           fmt::format("{} tensors, {}{}", checkpoint.tensors.size(),
                       core::show_bytes(static_cast<double>(checkpoint.weight_bytes())),
                       checkpoint.is_adapter ? " (adapter)" : ""),
           "nothing to resume from"));
  const bool moments = checkpoint.optimizer && !checkpoint.optimizer->states.empty();
  audit.parts.push_back(part("optimizer", moments, core::Severity::warning,
                             optimizer_detail(checkpoint),
                             "Adam's moments start from zero: the first updates have full size in "
                             "every direction, and the loss jumps (resume.loss_jump)"));
  audit.parts.push_back(part("scheduler",
                             checkpoint.has(FileRole::scheduler) || !checkpoint.scheduler.empty(),
                             core::Severity::warning, scheduler_detail(checkpoint),
                             "the schedule begins again with its warm-up (resume.lr_jump)"));
  const auto step = value(checkpoint.trainer_state, "global_step");
  audit.parts.push_back(part("trainer-state", step.has_value(), core::Severity::warning,
                             step ? step_detail(checkpoint, *step) : "",
                             "the step count is lost: logs start from 0, and so does what goes "
                             "by steps (resume.step_back)"));
  audit.parts.push_back(data_part(checkpoint));
  audit.parts.push_back(part("rng", !checkpoint.rng_ranks.empty(), core::Severity::note,
                             rng_detail(checkpoint),
                             "dropout and data order differ from the run that was stopped"));
  if (checkpoint.has(FileRole::scaler) || !checkpoint.scaler.empty()) {
    const auto scale = value(checkpoint.scaler, "scale");
    audit.parts.push_back(part("scaler", true, core::Severity::note,
                               scale ? fmt::format("loss scale {}", core::show_number(*scale)) : "",
                               ""));
  } else {
    audit.parts.push_back(part("scaler", false, core::Severity::note, "",
                               "only fp16 needs it: the loss scale starts from its initial value "
                               "and some steps are skipped until it has come down"));
  }
  compare_steps(checkpoint, audit);
  compare_rates(checkpoint, audit);
  compare_world(checkpoint, world, audit);
  return audit;
}

}  // namespace aplomb::checkpoint

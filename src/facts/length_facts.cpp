#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"
#include "facts/common_facts.h"

namespace aplomb::facts {
namespace {

/// Steps, from what is stated or from samples and batch.
void derive_steps(FactView& view) {
  const auto samples = view.positive("data.samples");
  const auto batch = view.positive("batch.global");
  const auto max_steps = view.positive("train.max_steps");
  const auto epochs = view.positive("train.epochs");
  std::optional<double> steps = max_steps;
  if (samples && batch) {
    const double per_epoch =
        view.truth("data.drop_last") ? std::floor(*samples / *batch) : std::ceil(*samples / *batch);
    view.set("config.steps_per_epoch", per_epoch,
             fmt::format("{} samples / {} = {} steps a pass", core::show_number(*samples, 9),
                         core::show_number(*batch), core::show_number(per_epoch, 9)),
             {"data.samples", "batch.micro"});
    if (!steps && epochs) steps = std::ceil(*epochs * per_epoch);
    if (max_steps && per_epoch > 0) {
      view.set("config.epochs", *max_steps / per_epoch,
               core::show_number(*max_steps / per_epoch, 3) + " passes over the data",
               {"train.max_steps", "data.samples"});
    }
  }
  if (!max_steps && epochs)
    view.set("config.epochs", *epochs, core::show_number(*epochs) + " passes over the data",
             {"train.epochs"});
  if (steps) {
    view.set("config.steps", *steps, core::show_number(*steps, 9) + " optimizer steps",
             {"train.max_steps", "train.epochs", "data.samples"});
  }
}

/// Whether the learning rate warms up, and over how much of the run.
void derive_warmup(FactView& view) {
  const auto steps = view.positive("config.steps");
  const auto share = view.number("schedule.warmup_frac");
  const auto warmup = view.number("schedule.warmup_steps");
  if (warmup && *warmup > 0) {
    view.set("config.warmup", true, "warm-up", {"schedule.warmup_steps"});
    if (steps) {
      view.set("config.warmup_share", *warmup / *steps,
               fmt::format("{} of {} steps warm up", core::show_number(*warmup, 9),
                           core::show_number(*steps, 9)),
               {"schedule.warmup_steps", "train.max_steps"});
    }
  } else if (share) {
    view.set("config.warmup", *share > 0, "warm-up", {"schedule.warmup_frac"});
    view.set("config.warmup_share", *share,
             core::show_number(*share * 100) + " % of the run warms up", {"schedule.warmup_frac"});
  } else if (warmup) {
    view.set("config.warmup",
             view.positive("schedule.warmup_epochs").has_value() ||
                 view.word("schedule.name").find("warmup") != std::string::npos,
             "no warm-up", {"schedule.warmup_steps"});
  }
}

void derive_decay(FactView& view) {
  const auto steps = view.positive("config.steps");
  const auto decay = view.positive("schedule.decay_steps");
  if (!decay || !steps) return;
  view.set("config.decay_share", *decay / *steps,
           fmt::format("the schedule ends at step {} of {}", core::show_number(*decay, 9),
                       core::show_number(*steps, 9)),
           {"schedule.decay_steps", "train.max_steps"});
}

}  // namespace

std::vector<Deriver> length_facts() {
  return {{.name = "steps",
           .reads = {"data.samples", "data.drop_last", "batch.global", "batch.micro",
                     "train.max_steps", "train.epochs"},
           .gives = {"config.steps_per_epoch", "config.epochs", "config.steps"},
           .derive = derive_steps},
          {.name = "warm-up",
           .reads = {"config.steps", "schedule.warmup_frac", "schedule.warmup_steps",
                     "schedule.warmup_epochs", "schedule.name", "train.max_steps"},
           .gives = {"config.warmup", "config.warmup_share"},
           .derive = derive_warmup},
          {.name = "decay",
           .reads = {"config.steps", "schedule.decay_steps", "train.max_steps"},
           .gives = {"config.decay_share"},
           .derive = derive_decay}};
}

}  // namespace aplomb::facts

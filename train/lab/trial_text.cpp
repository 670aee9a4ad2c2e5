#include "train/lab/trial_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aplomb::train::lab {
namespace {

std::string guesses_text(const Opinion& opinion) {
  std::string text;
  for (const Guess& each : opinion.guesses) {
    text +=
        fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", each.cause, 100 * each.probability);
  }
  return text.empty() ? opinion.verdict : text;
}

std::string harm_text(const std::optional<std::int64_t>& harm) {
  return harm ? fmt::format("step {}", *harm) : "none";
}

}  // namespace

std::string trial_text(const Fault& fault, const Trial& trial) {
  std::string text =
      fmt::format("{}: {} (seed {}, {})\n", fault.id, fault.summary, trial.seed, name(trial.style));
  const auto line = [&](std::string_view head, const std::string& rest) {
    text += fmt::format("{:<12} {}\n", head, rest);
  };
  line("loss", fmt::format("{:.3f} -> {:.3f}; the healthy twin ends at {:.3f}", trial.first_loss,
                           trial.last_loss, trial.twin_last_loss));
  line("harm", fmt::format("{} ({})", harm_text(trial.harm), fault.harm.text));
  line("before it",
       trial.before ? fmt::format("check: {} {}", name(trial.before->severity), trial.before->what)
                    : "nothing said of the files");
  line("first alarm", trial.alarm ? fmt::format("step {} ({} {})", trial.alarm->step,
                                                name(trial.alarm->severity), trial.alarm->what)
                                  : "none");
  if (const auto lead = trial.lead()) line("lead", fmt::format("{} steps", *lead));
  line("truth", fmt::format("{}", fmt::join(fault.causes, " or ")));
  line("diagnosis",
       fmt::format("{}: {}", trial.opinion.first_right(fault.causes) ? "right" : "WRONG",
                   guesses_text(trial.opinion)));
  line("log alone",
       fmt::format("{}: {}", trial.log_opinion.first_right(fault.causes) ? "right" : "wrong",
                   guesses_text(trial.log_opinion)));
  if (!trial.guarded) return text;
  line("with guard",
       fmt::format("harm: {}{}; first act: {} (expected: {}; {})", harm_text(trial.guarded_harm),
                   trial.guard_halted ? ", halted" : "", harm_text(trial.guard_alarm),
                   name(fault.guard), fault.guard_because));
  return text;
}

}  // namespace aplomb::train::lab

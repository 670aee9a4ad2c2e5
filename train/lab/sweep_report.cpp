#include "train/lab/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace aplomb::train::lab {
namespace {

GuardRole role_of(const Trial& trial) {
  const Fault* fault = find_fault(trial.fault);
  return fault == nullptr ? GuardRole::nothing : fault->guard;
}

/// In the order of the roster.
template <class Key>
std::vector<std::pair<std::string, Tally>> tallies(const Sweep& sweep, Key key) {
  std::vector<std::pair<std::string, Tally>> all;
  for (const Fault& fault : faults()) {
    for (const Trial& trial : sweep.trials) {
      if (trial.fault != fault.id) continue;
      const std::string name = key(trial);
      auto found = std::find_if(all.begin(), all.end(),
                                [&](const auto& each) { return each.first == name; });
      if (found == all.end()) found = all.insert(all.end(), {name, Tally()});
      found->second.add(trial, role_of(trial));
    }
  }
  return all;
}

Tally total_of(const Sweep& sweep) {
  Tally total;
  for (const Trial& each : sweep.trials) total.add(each, role_of(each));
  return total;
}

std::string share(int part, int whole) {
  return whole == 0 ? "-" : fmt::format("{}/{}", part, whole);
}

constexpr const char* k_row =
    "{:<34} {:>6} {:>7} {:>7} {:>7} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8}\n";

std::string row(std::string_view name, const Tally& tally) {
  return fmt::format(k_row, name, share(tally.harmed, tally.runs),
                     share(tally.before, tally.harmed), share(tally.live, tally.harmed),
                     share(tally.detected, tally.harmed),
                     tally.leads.empty() ? "-" : fmt::format("{}", tally.median_lead()),
                     share(tally.first, tally.runs), share(tally.three, tally.runs),
                     share(tally.family, tally.runs), share(tally.log_first, tally.runs),
                     share(tally.averted, tally.guardable));
}

std::string head(std::string_view name) {
  return fmt::format(k_row, name, "harm", "before", "live", "alarm", "lead", "top-1", "top-3",
                     "family", "log only", "averted");
}

int false_alarms(const Sweep& sweep) {
  return static_cast<int>(std::count_if(sweep.twins.begin(), sweep.twins.end(), is_false_alarm));
}

int guard_acts(const Sweep& sweep) {
  return static_cast<int>(std::count_if(sweep.twins.begin(), sweep.twins.end(),
                                        [](const Trial& each) { return bool(each.guard_alarm); }));
}

std::string first_guess(const Opinion& opinion) {
  if (opinion.guesses.empty()) return opinion.verdict;
  return fmt::format("{} {:.2f}", opinion.guesses.front().cause,
                     opinion.guesses.front().probability);
}

std::string misses(const Sweep& sweep) {
  std::string text;
  for (const Trial& each : sweep.trials) {
    const bool spared = each.averted() || !each.harm || role_of(each) == GuardRole::nothing;
    if (each.opinion.first_right(each.causes) && (each.detected() || !each.harm) && spared)
      continue;
    text += fmt::format(
        "  {} seed {} ({}): {}{}{}\n", each.fault, each.seed, name(each.style),
        each.opinion.first_right(each.causes) ? "" : "said " + first_guess(each.opinion),
        each.detected() || !each.harm ? "" : "; no alarm at or before the harm",
        spared ? "" : "; not averted");
  }
  for (const Trial& each : sweep.twins) {
    if (!is_false_alarm(each)) continue;
    text += fmt::format(
        "  {} seed {} ({}): {}, said {}{}\n", each.fault, each.seed, name(each.style),
        each.opinion.verdict, first_guess(each.opinion),
        each.before  ? fmt::format(", check says {}", each.before->what)
        : each.alarm ? fmt::format(", alarm {} at step {}", each.alarm->what, each.alarm->step)
                     : "");
  }
  for (const std::string& each : sweep.failed) text += "  could not be run: " + each + "\n";
  return text;
}

}  // namespace

std::string sweep_text(const Sweep& sweep) {
  std::string text = head("fault");
  for (const auto& [name, tally] : tallies(sweep, [](const Trial& t) { return t.fault; }))
    text += row(name, tally);
  text += "\n" + head("family");
  for (const auto& [name, tally] : tallies(sweep, [](const Trial& t) { return t.family; }))
    text += row(name, tally);
  const Tally total = total_of(sweep);
  text += row("all", total);
  text += fmt::format(
      "\nhealthy twins: {} of {} called broken; the guard acted in {}\ncalibration error {:.3f}; "
      "{:.0f} s\n",
      false_alarms(sweep), sweep.twins.size(), guard_acts(sweep), calibration_error(sweep.trials),
      sweep.seconds);
  if (const std::string missed = misses(sweep); !missed.empty()) text += "\nmissed:\n" + missed;
  return text;
}

nlohmann::ordered_json sweep_json(const Sweep& sweep) {
  nlohmann::ordered_json json;
  json["schema"] = "aplomb.lab/1";
  const Tally total = total_of(sweep);
  json["totals"] = {{"runs", total.runs},
                    {"harmed", total.harmed},
                    {"detected", total.detected},
                    {"detected_before", total.before},
                    {"detected_live", total.live},
                    {"median_lead_steps", total.median_lead()},
                    {"top1", total.first},
                    {"top3", total.three},
                    {"family", total.family},
                    {"top1_log_alone", total.log_first},
                    {"guardable", total.guardable},
                    {"averted", total.averted},
                    {"twins", sweep.twins.size()},
                    {"false_alarms", false_alarms(sweep)},
                    {"guard_acts_on_twins", guard_acts(sweep)},
                    {"calibration_error", calibration_error(sweep.trials)},
                    {"seconds", sweep.seconds}};
  json["trials"] = nlohmann::ordered_json::array();
  for (const Trial& each : sweep.trials) json["trials"].push_back(to_json(each));
  json["twins"] = nlohmann::ordered_json::array();
  for (const Trial& each : sweep.twins) json["twins"].push_back(to_json(each));
  json["failed"] = sweep.failed;
  return json;
}

bool is_passed(const Sweep& sweep) {
  const Tally total = total_of(sweep);
  return sweep.failed.empty() && total.detected == total.harmed &&
         total.first >= k_first_share * total.runs && false_alarms(sweep) == 0 &&
         total.averted == total.guardable;
}

}  // namespace aplomb::train::lab

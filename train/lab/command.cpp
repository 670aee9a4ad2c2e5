#include "train/lab/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "arguments/arguments.h"
#include "core/edit_distance.h"
#include "core/text.h"
#include "train/lab/sweep_report.h"
#include "train/lab/trial.h"
#include "train/lab/trial_text.h"

namespace aplomb::train::lab {
namespace {

constexpr int k_good = 0;
constexpr int k_missed = 1;
constexpr int k_cannot = 2;

/// Ids near to a word that is none, nearest first.
std::vector<std::string> near_faults(const std::string& word) {
  constexpr std::size_t k_most = 4;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const Fault& each : faults()) {
    const std::string slug = each.id.substr(each.id.find('.') + 1);
    std::size_t distance =
        std::min(core::edit_distance(word, each.id), core::edit_distance(word, slug));
    if (word.size() >= 3 && core::icontains(each.id, word))
      distance = std::min<std::size_t>(distance, 1);
    if (distance <= std::max<std::size_t>(2, word.size() / 3)) near.emplace_back(distance, each.id);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (const auto& [distance, name] : near) {
    if (names.size() < k_most) names.push_back(name);
  }
  return names;
}

std::string temporary_folder() {
  return (std::filesystem::temp_directory_path() / fmt::format("aplomb-lab-{}", ::getpid()))
      .string();
}

int complain(const std::string& text) {
  fmt::print(stderr, "aplomb lab: {}\n", text);
  return k_cannot;
}

int list() {
  std::string text;
  std::string family;
  for (const Fault& each : faults()) {
    if (each.family() != family) {
      family = each.family();
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", family);
    }
    text += fmt::format("  {:<34} {}\n", each.id, each.summary);
  }
  fmt::print("{}\n{} faults; aplomb lab run FAULT makes one.\n", text, faults().size());
  return k_good;
}

struct RunWords {
  std::string fault;
  std::uint64_t seed = 1;
  std::string out;
  std::string style;
  bool guard = false;
};

int run_one(const RunWords& words) {
  const Fault* fault = find_fault(words.fault);
  if (fault == nullptr) {
    const auto near = near_faults(words.fault);
    std::string text = fmt::format("there is no fault {}", core::sanitize(words.fault));
    if (!near.empty()) text += fmt::format("; near to it: {}", fmt::join(near, ", "));
    return complain(text + "; `aplomb lab list` names all");
  }
  Style style = style_of(*fault, words.seed);
  if (!words.style.empty()) {
    style = *style_named(words.style);
    if (fault->in_code && style != Style::plain) {
      return complain(
          fmt::format("{} lies in the code of a loop: only `--style plain` has one", fault->id));
    }
  }
  TrialOptions options;
  options.keep = !words.out.empty();
  options.with_guard = words.guard;
  options.folder =
      words.out.empty()
          ? (std::filesystem::temp_directory_path() / fmt::format("aplomb-lab-{}", ::getpid()))
                .string()
          : words.out;
  const auto trial = try_fault(*fault, words.seed, style, options);
  if (words.out.empty()) {
    std::error_code why;
    std::filesystem::remove_all(options.folder, why);
  }
  if (!trial) return complain(core::sanitize(trial.error().text));
  fmt::print("{}", trial_text(*fault, *trial));
  if (options.keep) {
    fmt::print("files        {}/{}-{}/evidence\n", words.out, fault->id, words.seed);
  }
  return trial->opinion.first_right(fault->causes) && trial->detected() ? k_good : k_missed;
}

struct SweepWords {
  SweepOptions options;
  std::string out;
  std::string json;
  bool quiet = false;
};

int sweep_all(SweepWords words) {
  SweepOptions& options = words.options;
  const bool temporary = words.out.empty();
  options.folder = temporary ? temporary_folder() : words.out;
  options.keep = !temporary;
  if (!words.quiet) {
    options.told = [](const Trial& trial) {
      fmt::print(stderr, "{} seed {}: {:.1f} s\n", trial.fault, trial.seed, trial.seconds);
    };
  }
  const auto sweep = run_sweep(options);
  if (temporary) {
    std::error_code why;
    std::filesystem::remove_all(options.folder, why);
  }
  if (!sweep) return complain(core::sanitize(sweep.error().text));
  fmt::print("{}", sweep_text(*sweep));
  if (!words.json.empty()) {
    std::ofstream file(words.json);
    file << sweep_json(*sweep).dump(1) << "\n";
    file.flush();
    if (!file) return complain(words.json + " cannot be written");
  }
  return is_passed(*sweep) ? k_good : k_missed;
}

}  // namespace

int run_command(std::vector<std::string> words) {
  const arguments::Program program("Runs that are broken on purpose, and what aplomb says of them",
                                   "aplomb lab");
  program.requires_verb();
  program.footer(
      "Examples:\n"
      "  aplomb lab list\n"
      "  aplomb lab run diverge.lr-x200 --guard --out broken\n"
      "  aplomb lab sweep --seeds 3 --twins 30 --json lab.json\n"
      "Exit status: 0 all found as it should be, 1 something was missed, 2 could not be run.");
  const arguments::Verb listing = program.verb("list", "Every fault, by family");
  RunWords one;
  const arguments::Verb running = program.verb("run", "Make one fault and say what was seen of it");
  running.option("FAULT", one.fault, "as `aplomb lab list` names it").required();
  running.option("--seed", one.seed, "of weights, data and order").shows_default();
  running.option("--out", one.out,
                 "keep what a user would have: FOLDER/FAULT-SEED/evidence, and truth.json");
  running.option("--style", one.style, "whose files: own, hf (Trainer), plain (own loop)")
      .one_of({"own", "hf", "plain"});
  running.flag("--guard", one.guard, "run it again with the guard in force");
  SweepWords many;
  const arguments::Verb sweeping =
      program.verb("sweep", "Every fault at several seeds, and healthy twins: the figures");
  sweeping.option("--seeds", many.options.seeds, "of each fault").shows_default().within(1, 1000);
  sweeping.option("--first-seed", many.options.first_seed, "the others follow it")
      .shows_default()
      .within(1, 1000000);
  sweeping.option("--twins", many.options.twins, "healthy runs").shows_default().within(0, 10000);
  sweeping.option("--only", many.options.only, "faults that match: 'nan.*,stall.lr*'");
  sweeping.option("--json", many.json, "every trial, into this file");
  sweeping.option("--out", many.out, "keep evidence and truth of each run in this folder");
  sweeping.option("--jobs", many.options.jobs, "processes").shows_default().within(1, 256);
  sweeping.flag("--quiet", many.quiet, "the tables alone");
  if (const auto stop = program.parse(std::move(words))) {
    std::fputs(stop->text.c_str(), stop->is_answer ? stdout : stderr);
    return stop->is_answer ? k_good : k_cannot;
  }
  if (listing.is_wanted()) return list();
  if (sweeping.is_wanted()) return sweep_all(std::move(many));
  return run_one(one);
}

}  // namespace aplomb::train::lab

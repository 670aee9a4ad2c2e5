#include "train/lab/sweep.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/lab/evidence.h"
#include "train/lab/twins.h"

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;

/// One run of the sweep: a fault at a seed, or a twin.
struct Item {
  const Fault* fault = nullptr;
  const Twin* twin = nullptr;
  std::uint64_t seed = 1;
};

/// Whether one of the globs, parted by commas, matches; none: all do.
bool is_wanted(std::string_view globs, std::string_view id) {
  if (globs.empty()) return true;
  while (!globs.empty()) {
    const std::size_t end = std::min(globs.find(','), globs.size());
    if (matches_glob(globs.substr(0, end), id)) return true;
    globs.remove_prefix(std::min(end + 1, globs.size()));
  }
  return false;
}

std::vector<Item> items_of(const SweepOptions& options) {
  std::vector<Item> items;
  for (int seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
    for (const Fault& each : faults()) {
      if (is_wanted(options.only, each.id))
        items.push_back({&each, nullptr, static_cast<std::uint64_t>(seed)});
    }
  }
  for (int i = 0; i < options.twins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    // Seeds apart from those of the faults' own twins.
    const auto apart = 100 + 1000 * static_cast<std::uint64_t>(options.first_seed - 1);
    items.push_back({nullptr, &twins()[at % twins().size()], apart + at});
  }
  return items;
}

core::Result<Trial> try_twin(const Twin& twin, std::uint64_t seed, const SweepOptions& options) {
  Fault as_fault;
  as_fault.id = "healthy." + twin.name;
  as_fault.run = twin.run;
  as_fault.causes = {"healthy"};
  as_fault.harm = {"none", [](const Trace&, const Trace&) { return std::nullopt; }};
  const TrialOptions how{options.folder, options.keep, true, false};
  auto trial = try_fault(as_fault, seed, static_cast<Style>(seed % 3), how);
  if (trial) trial->causes.clear();
  return trial;
}

core::Result<Trial> run_item(const Item& item, const SweepOptions& options) {
  if (item.twin != nullptr) return try_twin(*item.twin, item.seed, options);
  return try_fault(*item.fault, item.seed, style_of(*item.fault, item.seed),
                   {options.folder, options.keep, true, true});
}

/// Every `jobs`-th item from `first` on, into a file of one JSON object a line.
void work(const std::vector<Item>& items, std::size_t first, const SweepOptions& options,
          const std::string& path) {
  std::ofstream file(path);
  for (std::size_t i = first; i < items.size(); i += static_cast<std::size_t>(options.jobs)) {
    const auto trial = run_item(items[i], options);
    nlohmann::ordered_json line;
    if (trial) {
      if (options.told) options.told(*trial);
      line = to_json(*trial);
    } else {
      line["failed"] = trial.error().text;
    }
    file << line.dump() << '\n' << std::flush;  // a worker may die in the next one
  }
}

/// Starts the workers and waits. False where one did not end as it should.
bool run_workers(const std::vector<Item>& items, const SweepOptions& options,
                 const std::vector<std::string>& paths) {
  std::vector<pid_t> workers;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      work(items, i, options, paths[i]);
      ::_exit(0);
    }
    if (child > 0) workers.push_back(child);
  }
  bool good = workers.size() == paths.size();
  for (const pid_t each : workers) {
    int status = 0;
    good = ::waitpid(each, &status, 0) == each && WIFEXITED(status) && good;
  }
  return good;
}

void collect(const std::string& path, Sweep& sweep) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!json.is_object()) continue;  // torn by the worker's end
    if (json.contains("failed")) {
      sweep.failed.push_back(json["failed"].get<std::string>());
      continue;
    }
    Trial trial = trial_of(json);
    (trial.family == "healthy" ? sweep.twins : sweep.trials).push_back(std::move(trial));
  }
}

}  // namespace

core::Result<Sweep> run_sweep(const SweepOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  std::error_code why;
  fs::create_directories(options.folder, why);
  if (why)
    return core::fail(core::ErrorCode::not_writable,
                      "[lab] " + options.folder + ": " + why.message());
  const std::vector<Item> items = items_of(options);
  if (items.empty())
    return core::fail(core::ErrorCode::bad_usage, "[lab] no fault matches " + options.only);
  std::vector<std::string> paths;
  paths.reserve(static_cast<std::size_t>(options.jobs));
  for (int i = 0; i < options.jobs; ++i)
    paths.push_back(fmt::format("{}/worker-{}.jsonl", options.folder, i));
  bool good = true;
  if (options.jobs == 1) {
    work(items, 0, options, paths.front());
  } else {
    good = run_workers(items, options, paths);
  }
  Sweep sweep;
  for (const std::string& path : paths) {
    collect(path, sweep);
    fs::remove(path, why);
  }
  if (!good) sweep.failed.emplace_back("a worker ended before its time");
  const auto order = [](const Trial& a, const Trial& b) {
    return std::tie(a.family, a.fault, a.seed) < std::tie(b.family, b.fault, b.seed);
  };
  std::sort(sweep.trials.begin(), sweep.trials.end(), order);
  std::sort(sweep.twins.begin(), sweep.twins.end(), order);
  sweep.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return sweep;
}

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0;
  std::size_t star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g, ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      from = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool is_false_alarm(const Trial& twin) {
  const bool sure = !twin.opinion.guesses.empty() && twin.opinion.guesses.front().probability > 0.5;
  const bool live = twin.alarm && twin.alarm->severity > core::Severity::warning;
  const bool verdict = twin.opinion.verdict != "healthy" && twin.opinion.verdict != "warning";
  return twin.before || twin.opinion.has_alarm || live || verdict ||
         (twin.opinion.verdict == "warning" && sure);
}

void Tally::add(const Trial& trial, GuardRole role) {
  ++runs;
  first += trial.opinion.first_right(trial.causes) ? 1 : 0;
  three += trial.opinion.three_right(trial.causes) ? 1 : 0;
  family += trial.opinion.family_right(trial.family) ? 1 : 0;
  log_first += trial.log_opinion.first_right(trial.causes) ? 1 : 0;
  if (!trial.harm) return;
  ++harmed;
  detected += trial.detected() ? 1 : 0;
  before += trial.detected_before() ? 1 : 0;
  if (trial.detected_live()) {
    ++live;
    leads.push_back(*trial.lead());
  }
  if (role == GuardRole::nothing || !trial.guarded) return;
  ++guardable;
  averted += trial.averted() ? 1 : 0;
}

std::int64_t Tally::median_lead() const {
  if (leads.empty()) return 0;
  std::vector<std::int64_t> sorted = leads;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

double calibration_error(const std::vector<Trial>& trials) {
  struct Bin {
    double said = 0, right = 0;
    int count = 0;
  };
  std::array<Bin, 10> bins;
  int answered = 0;
  for (const Trial& each : trials) {
    if (each.opinion.guesses.empty()) continue;
    const double p = each.opinion.guesses.front().probability;
    Bin& bin = bins[std::min<std::size_t>(9, static_cast<std::size_t>(p * 10))];
    bin.said += p;
    bin.right += each.opinion.first_right(each.causes) ? 1 : 0;
    ++bin.count;
    ++answered;
  }
  double sum = 0;
  for (const Bin& bin : bins) sum += std::abs(bin.said - bin.right);
  return answered > 0 ? sum / answered : 0;
}

}  // namespace aplomb::train::lab

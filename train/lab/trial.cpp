#include "train/lab/trial.h"

#include <aplomb/diagnose.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/lab/evidence.h"
#include "train/lab/harm.h"

namespace aplomb::train::lab {
namespace {

namespace fs = std::filesystem;

bool contains(const std::vector<std::string>& causes, const std::string& cause) {
  return std::find(causes.begin(), causes.end(), cause) != causes.end();
}

std::string family_of(const std::string& id) { return id.substr(0, id.find('.')); }
std::string slug_of(const std::string& id) { return id.substr(id.find('.') + 1); }

double end_of(const Trace& trace, bool first) {
  const auto losses = trace.series("loss");
  if (losses.empty()) return 0;
  return first ? losses.front().second : losses.back().second;
}

/// The guard's first act from step `begins` on.
std::optional<std::int64_t> first_act(const Trace& trace, std::int64_t begins) {
  const auto at = std::find_if(trace.guard_acts.begin(), trace.guard_acts.end(),
                               [begins](std::int64_t step) { return step >= begins; });
  if (at != trace.guard_acts.end()) return *at;
  return std::nullopt;
}

/// Runs in a folder of its own, which is gone afterwards unless it is to be kept.
class RunFolder {
 public:
  RunFolder(fs::path path, bool keep) : path_(std::move(path)), keep_(keep) {
    std::error_code why;
    fs::remove_all(path_, why);
    fs::create_directories(path_, why);
  }
  ~RunFolder() {
    std::error_code why;
    if (!keep_) fs::remove_all(path_, why);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
  bool keep_;
};

}  // namespace

bool Opinion::first_right(const std::vector<std::string>& causes) const {
  return !guesses.empty() && contains(causes, guesses.front().cause);
}

bool Opinion::three_right(const std::vector<std::string>& causes) const {
  return std::any_of(guesses.begin(), guesses.end(),
                     [&](const Guess& each) { return contains(causes, each.cause); });
}

bool Opinion::family_right(const std::string& family) const {
  return !guesses.empty() && family_of(guesses.front().cause) == family;
}

Opinion opinion_of(const std::vector<std::string>& paths) {
  const Report report = diagnose(paths, {});
  Opinion opinion;
  opinion.verdict = aplomb::name(report.verdict);
  for (std::size_t i = 0; i < std::min<std::size_t>(report.causes.size(), 3); ++i)
    opinion.guesses.push_back({report.causes[i].id, report.causes[i].probability});
  for (const ReportSymptom& each : report.symptoms) {
    if (each.severity == "note") continue;
    if (opinion.worst_symptom.empty()) opinion.worst_symptom = each.id;
    opinion.has_alarm = opinion.has_alarm || each.severity != "warning";
  }
  return opinion;
}

std::optional<std::int64_t> Trial::spoke_at() const {
  return before ? std::optional(before->step) : spoke_live();
}

std::optional<std::int64_t> Trial::spoke_live() const {
  std::optional<std::int64_t> at;
  if (alarm) at = alarm->step;
  if (guard_alarm) at = at ? std::min(*at, *guard_alarm) : *guard_alarm;
  return at;
}

std::optional<std::int64_t> Trial::lead() const { return lead_steps(spoke_live(), harm); }

bool Trial::detected_live() const {
  const auto steps = lead();
  return steps && *steps >= 0;
}

bool Trial::detected() const { return detected_before() || detected_live(); }

bool Trial::averted() const { return guarded && (!guarded_harm || guard_halted); }

core::Result<Trial> try_fault(const Fault& fault, std::uint64_t seed, Style style,
                              const TrialOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const RunFolder place(fs::path(options.folder) / fmt::format("{}-{}", fault.id, seed),
                        options.keep);
  Request request{seed, place / "", true, false, style, true};
  const auto run = fault.run(request);
  if (!run) return tl::unexpected(run.error());
  const Request of_twin{seed, place / "twin", false, false, style, false};
  const auto twin = options.against_twin ? fault.run(of_twin) : run;
  if (!twin) return tl::unexpected(twin.error());

  Trial trial;
  trial.fault = fault.id;
  trial.family = fault.family();
  trial.seed = seed;
  trial.style = style;
  trial.causes = fault.causes;
  trial.harm = fault.harm.at(*run, *twin);
  trial.before = options.against_twin
                     ? alarm_before(place / "before", place / "twin/before", fault.causes)
                     : any_alarm_before(place / "before");
  trial.alarm = first_alarm(*run, style, core::Severity::warning, fault.begins);
  const std::string evidence = place / "evidence";
  trial.opinion = opinion_of({evidence});
  trial.log_opinion = opinion_of({evidence + "/" + log_name(style)});
  trial.first_loss = end_of(*run, true);
  trial.last_loss = end_of(*run, false);
  trial.twin_last_loss = end_of(*twin, false);
  if (options.with_guard) {
    const Request guarded{seed, place / "guarded", true, true, style, false};
    const auto held = fault.run(guarded);
    if (!held) return tl::unexpected(held.error());
    trial.guarded = true;
    trial.guarded_harm = fault.harm.at(*held, *twin);
    trial.guard_halted = held->halted;
    trial.guard_alarm = first_act(*held, fault.begins);
  }
  std::ofstream(place / "truth.json") << truth_json(fault, seed, trial.harm);
  if (options.keep) {
    std::error_code why;
    for (const char* scratch : {"work", "twin", "guarded"}) fs::remove_all(place / scratch, why);
  }
  trial.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return trial;
}

Style style_of(const Fault& fault, std::uint64_t seed) {
  if (fault.in_code) return Style::plain;
  // By the sum of the id's letters, so that neighbours in the roster begin with different styles.
  std::uint64_t sum = seed;
  for (const char letter : fault.id) sum += static_cast<unsigned char>(letter);
  return static_cast<Style>(sum % 3);
}

std::string truth_json(const Fault& fault, std::uint64_t seed,
                       const std::optional<std::int64_t>& harm) {
  nlohmann::ordered_json truth;
  truth["id"] = fmt::format("{}-{}", fault.id, seed);
  truth["source"] = "aplomb lab";
  truth["title"] = fault.summary;
  truth["family"] = fault.family();
  truth["cause"] = slug_of(fault.causes.front());
  truth["accept"] = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < fault.causes.size(); ++i)
    truth["accept"].push_back(slug_of(fault.causes[i]));
  truth["symptoms"] = nlohmann::ordered_json::array();
  truth["first_bad_step"] = harm ? nlohmann::ordered_json(*harm) : nlohmann::ordered_json(nullptr);
  truth["remedy"] = "";
  truth["confirmed_by"] = "made so";
  truth["enough_evidence"] = true;
  return truth.dump(1) + "\n";
}

}  // namespace aplomb::train::lab

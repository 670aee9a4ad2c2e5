#pragma once
/// Trial: one fault at one seed, from the run to the score: when aplomb spoke and when the harm was
/// done, what it was diagnosed as, and what the guard made of it.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/lab/alarm.h"
#include "train/lab/fault.h"

namespace aplomb::train::lab {

struct Guess {
  std::string cause;
  double probability = 0;
};

/// What `aplomb diagnose` says of a folder or a file.
struct Opinion {
  std::string verdict;         ///< as in a report
  std::vector<Guess> guesses;  ///< most probable first, at most three
  std::string worst_symptom;   ///< empty: none of at least `warning`
  bool has_alarm = false;      ///< a symptom worse than a warning

  /// The first guess is one of `causes`; one of the first three is; the first is of its family.
  bool first_right(const std::vector<std::string>& causes) const;
  bool three_right(const std::vector<std::string>& causes) const;
  bool family_right(const std::string& family) const;
};
Opinion opinion_of(const std::vector<std::string>& paths);

struct Trial {
  std::string fault;  ///< or the name of a twin
  std::string family;
  std::uint64_t seed = 1;
  Style style = Style::own;
  std::vector<std::string> causes;
  std::optional<std::int64_t> harm;
  std::optional<Alarm> before;              ///< of `aplomb check`, about the fault
  std::optional<Alarm> alarm;               ///< of the detectors
  std::optional<std::int64_t> guard_alarm;  ///< first act of the guard, where it was in force
  Opinion opinion;                          ///< of the whole evidence
  Opinion log_opinion;                      ///< of the log alone
  bool guarded = false;                     ///< the run with the guard was taken
  std::optional<std::int64_t> guarded_harm;
  bool guard_halted = false;
  double first_loss = 0, last_loss = 0, twin_last_loss = 0;
  double seconds = 0;

  /// The earlier of detectors and guard: what is said while the run goes on.
  std::optional<std::int64_t> spoke_live() const;
  /// The earliest of all: 0 where it was said before the run.
  std::optional<std::int64_t> spoke_at() const;
  /// Steps from what was said during the run to the harm.
  std::optional<std::int64_t> lead() const;
  /// The fault did harm, and an alarm came at or before it; during the run; before it.
  bool detected() const;
  bool detected_live() const;
  bool detected_before() const { return harm && before; }
  /// No harm with the guard, or it ended the run at or before the harm.
  bool averted() const;
};

struct TrialOptions {
  std::string folder;        ///< where to run; `<folder>/<fault>-<seed>`
  bool keep = false;         ///< leave the files
  bool with_guard = true;    ///< the second run, with the guard in force
  bool against_twin = true;  ///< false: the run is its own twin (a healthy one)
};

core::Result<Trial> try_fault(const Fault& fault, std::uint64_t seed, Style style,
                              const TrialOptions& options);

/// Style of a trial: over three seeds each fault meets all (those in code keep to their own).
Style style_of(const Fault& fault, std::uint64_t seed);

/// truth.json beside `evidence/`, in the layout of a casebook.
std::string truth_json(const Fault& fault, std::uint64_t seed,
                       const std::optional<std::int64_t>& harm);

nlohmann::ordered_json to_json(const Trial& trial);
Trial trial_of(const nlohmann::ordered_json& json);
std::string_view name(Style style);
std::optional<Style> style_named(std::string_view name);

}  // namespace aplomb::train::lab

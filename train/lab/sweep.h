#pragma once
/// Sweep: every fault at several seeds, and healthy twins: the statistical test of detectors, guard
/// and diagnosis.

#include <functional>
#include <string>
#include <vector>

#include "train/lab/trial.h"

namespace aplomb::train::lab {

struct SweepOptions {
  int seeds = 3;
  int first_seed = 1;  ///< others than the usual ones are runs that nobody has looked at
  int twins = 30;      ///< runs; beyond the roster's end it begins anew with another seed
  std::string only;    ///< faults whose id matches one of these globs (`*`, `?`), parted by commas;
                       ///< empty: all
  std::string folder;  ///< where to run
  bool keep = false;   ///< leave evidence and truth of each run there
  int jobs = 1;        ///< processes
  /// Told of each trial as it ends, in the process that ran it.
  std::function<void(const Trial&)> told;
};

struct Sweep {
  std::vector<Trial> trials;
  std::vector<Trial> twins;         ///< family `healthy`
  std::vector<std::string> failed;  ///< what could not be run, and why
  double seconds = 0;
};
core::Result<Sweep> run_sweep(const SweepOptions& options);

bool matches_glob(std::string_view glob, std::string_view text);

/// A healthy run was called broken: by a finding of at least `warning` about the files before it,
/// by a symptom worse than a warning, by a verdict worse than one, or by a cause of more than one
/// half.
bool is_false_alarm(const Trial& twin);

/// Counts over trials.
struct Tally {
  int runs = 0;
  int harmed = 0;    ///< did harm without the guard
  int detected = 0;  ///< of these, an alarm at or before it
  int before = 0;    ///< of the harmed: said of the user's files before the run
  int live = 0;      ///< of the harmed: said during the run, at or before the harm
  int first = 0, three = 0, family = 0, log_first = 0;
  int guardable = 0;  ///< the guard can act on it, and harm was done
  int averted = 0;
  std::vector<std::int64_t> leads;  ///< of those detected live, steps

  void add(const Trial& trial, GuardRole role);
  std::int64_t median_lead() const;
};

/// Expected calibration error of the first cause's probability, ten bins.
double calibration_error(const std::vector<Trial>& trials);

}  // namespace aplomb::train::lab

#pragma once
/// What a run leaves for its user, in the style of the trainer that he would have used: log,
/// metrics, settings, checkpoints, and where the loop is his own the program.
///
/// Nothing here knows of the fault: the files are made from what was logged and asked for.

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/lab/fault.h"

namespace aplomb::train::lab {

/// Key and value as a YAML file has them.
using UserSettings = std::vector<std::pair<std::string, std::string>>;

struct UserFiles {
  /// Lines before the first record: what the program says of itself.
  std::vector<std::string> greeting;
  /// File name -> content: train.yaml, config.yaml, train.py.
  std::vector<std::pair<std::string, std::string>> files;
  /// checkpoint-<step> folders here go along; empty: none.
  std::string checkpoints;
};

/// `key: value` lines.
std::string yaml_of(const UserSettings& settings);

/// The samples as that trainer's logger shows them: rounded; Hugging Face's Trainer replaces a loss
/// that is not finite (`logging_nan_inf_filter`, on by default).
std::vector<Sample> as_logged(const std::vector<Sample>& samples, Style style);

/// Writes `<folder>/before/`: the user's files as they were before the run began.
core::Result<void> write_before(const UserFiles& user, const Request& request);

/// Writes `<folder>/evidence/`.
core::Result<void> write_evidence(const UserFiles& user, const Trace& trace,
                                  const Request& request);

/// Name of the log in it, by style.
std::string log_name(Style style);

}  // namespace aplomb::train::lab

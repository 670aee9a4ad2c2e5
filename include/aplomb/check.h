#pragma once
/// check(): a configuration, a data set or a program -> what is wrong with it before it runs.
///
///     aplomb::Report report = aplomb::check({"train.yaml", "ds_config.json"}, {});
///     for (const auto& finding : report.findings) ...
///
/// Reads only and executes nothing of what it reads. Does not throw but std::bad_alloc.

#include <aplomb/report.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace aplomb {

struct CheckOptions {
  /// The card that the run is meant for, in any words that name it (`H100`, `NVIDIA A100 80GB`).
  /// Empty: the one that the configuration names, else `local_gpu`.
  std::string gpu;
  /// The card of this machine, empty where it has none.
  std::string local_gpu;
  /// Reads the programs (`.py`): an interpreter of 3.9 or later, which parses and runs nothing of
  /// them, and whose pyarrow decodes Parquet and Arrow files.
  std::string python = "python3";
  /// Called now and then with bytes read and bytes known of; empty: no progress.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress;
};

/// Files that are named together are one run; of a folder each configuration that can stand alone
/// is a run with the parts beside it (DeepSpeed's file, a model's config.json).
Report check(const std::vector<std::string>& paths, const CheckOptions& options);

/// The first remedy of every finding that is a change of settings, as one cause: what plan_fix()
/// of the diagnosis takes. Where two remedies set the same thing, the one of the worse finding
/// stays.
Report fixable(const Report& report);

}  // namespace aplomb

#pragma once
/// PastRun: what is kept of a run that is over: enough to find it again, to compare its settings with
/// another's and to draw it small. Plain data; JSON both ways (schema `aplomb.run/1`,
/// docs/stability.md).

#include <aplomb/report.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::store {

struct PastCause {
  std::string id;
  std::string title;
  double probability = 0;
};

struct PastSymptom {
  std::string id;
  std::string severity;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::string summary;
};

/// A curve of at most k_most_points points; of many the least and the greatest of each part stay.
struct PastSeries {
  static constexpr std::size_t k_most_points = 512;
  std::string name;
  std::string role;
  std::uint64_t points = 0;  ///< that the run had
  std::vector<ChartPoint> chart;
};

/// What became of a run against the one before it.
enum class Helped { unknown, yes, no, worse };
std::string_view name(Helped helped);

struct PastRun {
  static constexpr const char* k_schema = "aplomb.run/1";
  std::string id;      ///< given by the store
  std::string origin;  ///< `run` or `diagnose`
  std::string
      program;       ///< what runs of the same program share: its script, or a path without numbers
  std::string name;  ///< folder or file that it was found in
  std::string host;  ///< a pseudonym, given by the store
  std::vector<std::string> paths;
  double began = 0;  ///< seconds since 1970
  double ended = 0;
  std::optional<int> status;  ///< the program's exit status, 128 + N of signal N
  std::string verdict;
  std::string headline;
  bool is_answered = false;  ///< whether the first cause was put forward as the answer
  std::uint64_t steps = 0;
  std::vector<PastCause> causes;  ///< most probable first
  std::vector<PastSymptom> symptoms;
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> environment;
  std::vector<PastSeries> series;

  std::string previous;               ///< id of the run of the same program before it
  std::vector<ReportChange> changed;  ///< against that one
  Helped helped = Helped::unknown;

  /// By which a run that is told again is known to be the same one.
  std::string lead_path;   ///< the file of its leading series, else its first file
  std::string lead_first;  ///< that series' first sample, as text; empty where there is none
  std::string lead_last;
  std::string kinds;  ///< of the files that it was read from: whether two lists of settings compare
};

/// What the report says of its run; times, program and paths are the caller's to add. Secrets in
/// values are replaced by what stands for them.
PastRun past_run_of(const Report& report);

nlohmann::ordered_json json_of(const PastRun& run);
/// Errors: bad_format. Lists and texts beyond what past_run_of() gives are cut.
core::Result<PastRun> past_run_from(const nlohmann::ordered_json& value);

/// At most `most` points that draw the same: least, greatest, and a value that is not finite of each part.
std::vector<ChartPoint> decimated(const std::vector<ChartPoint>& points, std::size_t most);

/// The settings that two runs had differently. One that only one of them had counts where both were
/// read from the same kinds of files; else it may just not have been written down.
std::vector<ReportChange> changes_between(const PastRun& before, const PastRun& after);

/// Whether `after` fared better; unknown where one of the two could not be judged.
Helped helped(std::string_view verdict_before, std::string_view verdict_after);

/// `2026-11-12` of the machine's time zone.
std::string date_of(double seconds_since_1970);

}  // namespace aplomb::store

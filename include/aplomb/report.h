#pragma once
/// Report: the one result of every command: what was read, what was seen, why, and what to do. The
/// terminal, JSON (schema `aplomb.report/1`) and HTML are views of it. Plain data; owns everything;
/// copyable.
///
/// JSON form: one object with the members below under the same names (fields are added, never
/// renamed).

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aplomb {

/// A line (or place) in the user's files that supports a statement.
struct Evidence {
  std::string path;
  std::uint64_t line = 0;  ///< from 1; 0 where lines have no meaning
  std::optional<std::int64_t> step;
  std::string text;  ///< the line as it stands there (sanitized, shortened), or what was measured
};

struct ReportInput {
  std::string path;
  std::string kind;  ///< reader's slug, `unknown` where none could read it
  std::uint64_t steps = 0;
  std::vector<std::string> warnings;  ///< what could not be read: one line a defect
};

/// Points for charts: at most k_chart_points, thinned so that extremes and non-finite samples stay.
struct ChartPoint {
  std::int64_t step = 0;
  double value = 0;  ///< may be NaN or Inf
};

struct ReportSeries {
  static constexpr std::size_t k_chart_points = 1000;
  std::string name;
  std::string role;
  std::uint64_t points = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double first = std::numeric_limits<double>::quiet_NaN();
  double last = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t nonfinite = 0;
  std::string path;
  std::vector<ChartPoint> chart;
};

struct ReportSymptom {
  std::string id;        ///< `loss.spike`
  std::string severity;  ///< note | warning | unstable | failed
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::string series;  ///< the series it was seen on, empty where on none
  std::string summary;
  std::vector<Evidence> evidence;
};

using ReportValue = std::variant<bool, double, std::string>;

struct ReportRemedy {
  std::string text;
  std::map<std::string, ReportValue> set;       ///< Settings to change: `optim.lr` -> 2e-5
  std::map<std::string, std::string> rendered;  ///< framework -> the change in its own keys
};

/// One addend of a cause's log-odds: why its probability is what it is.
struct ReportWeight {
  std::string when;   ///< the condition that held, as written in the knowledge base
  double weight = 0;  ///< nats
  std::string because;
  std::vector<Evidence> evidence;
};

struct ReportCause {
  std::string id;  ///< `nan.lr-too-high`
  std::string family;
  std::string title;
  double probability = 0;
  std::string because;
  std::vector<ReportWeight> weights;
  std::vector<Evidence> evidence;
  std::vector<ReportRemedy> remedies;  ///< least disruptive first
  std::string verify;
  std::vector<std::string> references;
};

/// A rival of the listed causes that something in the artifacts rules out.
struct ReportRuledOut {
  std::string id;
  std::string title;
  std::string because;  ///< the fact that rules it out, in a sentence
  std::vector<Evidence> evidence;
};

/// One thing that shows a run to be in order, or keeps it from being called so.
struct ReportHealthFinding {
  std::string because;
  std::vector<Evidence> evidence;
};

/// `healthy` is said only where something is `shown` and nothing stands `against` it.
struct ReportHealth {
  std::vector<ReportHealthFinding> shown;
  std::vector<ReportHealthFinding> against;
  std::vector<ReportHealthFinding> missing;  ///< what would show it, where nothing does
};

struct ReportExperiment {
  std::string text;                    ///< what to run
  std::vector<std::string> separates;  ///< the cause ids it tells apart
  std::string reads;                   ///< how to read the outcome
};

/// Something in a configuration, a data set or a program that `aplomb check` would change before
/// the run starts, or wants said (`note`).
struct ReportFinding {
  std::string id;        ///< `precision.bf16-unsupported`, `data.duplicates`, `code.log-softmax`
  std::string severity;  ///< note | warning | unstable | failed: what the run would become
  std::string title;
  std::string because;
  std::vector<Evidence> evidence;  ///< the lines that say it; the first is where to change it
  std::vector<ReportRemedy> remedies;
  std::vector<std::string>
      leads_to;  ///< ids of the causes that a broken run would be diagnosed with
  std::vector<std::string> references;
};

enum class Verdict { healthy, warning, unstable, failed, insufficient_evidence };
/// `healthy` | `warning` | `unstable` | `failed` | `insufficient-evidence`
std::string_view name(Verdict verdict);

/// One run of several: the report itself speaks about the worst of them, which comes first.
struct ReportRun {
  std::string name;  ///< folder or file that it was found in
  Verdict verdict = Verdict::insufficient_evidence;
  std::string headline;
  std::string cause;  ///< id of the most probable cause, empty where none
  std::uint64_t steps = 0;
};

/// A setting that two runs had differently; the text is empty where a run did not have it.
struct ReportChange {
  std::string name;
  std::string before;
  std::string after;
};

/// An earlier run of the user's with the same first cause and the same symptoms, from the store of
/// runs; and what ended it: the first healthy run of the same program after it.
struct ReportSeenBefore {
  std::string run;   ///< id, as `aplomb history show` takes it
  std::string name;  ///< folder or file that it was found in
  std::string date;  ///< `2026-11-12`
  std::string cause;
  std::vector<std::string> symptoms;  ///< ids that both have
  std::uint64_t times = 0;            ///< how many such runs there are
  std::string ended_by;               ///< id of the healthy run; empty where there is none
  std::string ended_date;
  std::vector<ReportChange> changed;  ///< what the healthy run was told differently
};

struct Report {
  static constexpr const char* k_schema = "aplomb.report/1";
  std::vector<ReportInput> inputs;
  std::vector<ReportSeries> series;
  Verdict verdict = Verdict::insufficient_evidence;
  std::vector<ReportSymptom> symptoms;    ///< most severe first, then by step
  std::vector<ReportCause> causes;        ///< most probable first
  std::vector<ReportRuledOut> ruled_out;  ///< likeliest first, had nothing spoken against them
  ReportHealth health;
  double unknown_probability =
      0;  ///< what is left for causes that the knowledge base does not hold
  std::vector<ReportExperiment> experiments;
  std::vector<ReportFinding> findings;  ///< of `aplomb check`: most severe first
  std::vector<ReportRun> runs;          ///< worst first; one where the inputs hold one run
  /// Only where runs are remembered (`aplomb history`) and one of them was like this one.
  std::optional<ReportSeenBefore> seen_before;
  std::map<std::string, ReportValue> settings;
  /// `headline` (what went wrong, one sentence), `seen` (the same without a word about the cause;
  /// missing where nothing is wrong), `first_action` (what to do about it), `bring` (of
  /// insufficient evidence: what would tell more), `in_order` (where what looks odd is so by nature:
  /// why), `run`, `runs`, `framework` (slug, where known),
  /// `steps` (last step seen), `samples`, `seconds` (what the diagnosis took).
  std::map<std::string, ReportValue> summary;
};

}  // namespace aplomb

#pragma once
/// compare_runs(): two Runs side by side. Pure: reads nothing but the Runs, prints nothing.
///
///     auto made = compare::compare_runs(a, b, {{a2, a3}, {b2}}, Axis::step);   // other seeds
///     if (!made) ...                     // nothing in common to compare; the text says why
///     made->verdict ...
///
/// Cost: linear in the samples of the metrics that both have, about 1 us each.

#include <optional>
#include <string>
#include <vector>

#include "compare/curve.h"
#include "compare/ending.h"
#include "compare/parting.h"
#include "compare/settings_diff.h"
#include "core/result.h"
#include "record/run.h"

namespace aplomb::compare {

enum class Judgement {
  identical,  ///< every pair is equal, to the last bit or to the digits written
  same,       ///< no outcome differs by more than noise
  differ,     ///< one does, or only one run ended in NaN
  unknown,    ///< too few samples of any outcome to tell noise from difference
};
std::string_view name(Judgement judgement);

/// One metric that both runs have.
struct Metric {
  std::string name;
  record::Role role = record::Role::other;
  bool outcome = false;  ///< what training is for (loss, evaluation, reward): enters the verdict
  int better = 0;        ///< 1: higher is better, -1: lower, 0: not known
  Pairs pairs;
  Likeness likeness;
  std::optional<std::size_t> broken;  ///< pair at which only one of the two is finite
  std::optional<std::size_t> parted;  ///< pair from which they lie apart by more than noise
  Ending ending;
  bool beyond = false;  ///< the difference at the end exceeds the noise

  /// Where they stop being one run: the earlier of `broken` and `parted`.
  std::optional<std::size_t> apart() const;
};

/// A metric that both have under one name and that was not compared.
struct Refused {
  std::string name;
  record::Role role = record::Role::other;
  std::string why;
};

/// How far from the start all metrics of a known meaning are equal.
struct EqualTo {
  std::optional<double> last;        ///< the last place before the first difference
  std::optional<double> difference;  ///< the first difference; nothing where there is none
  std::string metric;                ///< in which it is
};

/// Speed and memory. Machines differ from hour to hour: only what is far more than that makes two runs
/// differ that end alike (Comparison::cost).
struct Level {
  struct Side {
    double low = 0;  ///< first quartile
    double median = 0;
    double high = 0;  ///< third quartile
    double most = 0;
  };
  std::string name;
  record::Role role = record::Role::other;
  Side a;
  Side b;
  /// B to A: of the largest values for memory, else of the medians. NaN where A's is 0.
  double ratio() const;
  /// The middle halves of the two do not overlap.
  bool clear() const { return a.high < b.low || b.high < a.low; }
  /// B needs that much more than A, clearly: 1.5 times as long, or 1.3 times the memory.
  bool costly() const;
};

struct RunBrief {
  std::string name;
  std::uint64_t samples = 0;  ///< of its longest series
  double first = 0;           ///< on the axis
  double last = 0;
  std::size_t settings = 0;  ///< that were read of it
};

/// What the diagnosis of a run that is not in order says first of it.
struct Ailment {
  std::string cause;  ///< id: `overfit.too-many-epochs`
  std::string title;
  double probability = 0;
  std::string first_fix;
  std::vector<std::string> sets;  ///< the settings that its first remedy changes
};

struct Comparison {
  Axis axis = Axis::step;
  RunBrief a;
  RunBrief b;
  std::vector<RunBrief> seeds;    ///< further runs of A
  std::vector<RunBrief> b_seeds;  ///< of B
  Judgement verdict = Judgement::unknown;
  std::vector<Metric> metrics;  ///< outcomes first, those of unknown meaning last
  std::size_t lead = 0;         ///< the metric that the verdict names
  std::size_t outcomes = 0;     ///< tested for the verdict; they share the accepted error
  EqualTo bits;
  EqualTo digits;
  std::vector<SettingDifference> settings;
  std::vector<Level> levels;
  std::optional<std::size_t>
      cost;  ///< the level by which B costs far more, where outcomes are the same
  std::vector<Refused> refused;
  std::vector<std::string> notes;
  /// The step from which on the loss has no value to the end of the run, of A and of B.
  std::optional<std::int64_t> lost_a;
  std::optional<std::int64_t> lost_b;
  std::vector<std::int64_t> lost_further;  ///< of the further runs of both that have such a step
  /// Nothing where the run is in order or nobody diagnosed it (explain()).
  std::optional<Ailment> ails_a;
  std::optional<Ailment> ails_b;

  const Metric& leading() const { return metrics[lead]; }
};

/// Runs of the two configurations with other seeds.
struct Seeds {
  std::vector<record::Run> a;
  std::vector<record::Run> b;
};

/// Settings, curves and the place where they part are those of `a` and `b`; what lies apart at the
/// end is judged with all runs.
core::Result<Comparison> compare_runs(const record::Run& a, const record::Run& b,
                                      const Seeds& seeds, Axis axis);

/// Which of two runs that differ is the worse one; nothing where that has no answer.
enum class Side { a, b };
std::optional<Side> worse_of(const Comparison& comparison);

/// Takes over what ails the two. Differing settings that the first remedy of the worse run's
/// ailment changes are the first suspects then.
void explain(Comparison& comparison, std::optional<Ailment> a, std::optional<Ailment> b);

/// Of the Runs that a path gave: the one with the longest series; which one, where there were
/// several, goes into `note`. An error where none has a series.
core::Result<record::Run> chosen_run(std::vector<record::Run> runs, const std::string& path,
                                     std::string& note);

}  // namespace aplomb::compare

#pragma once
/// Fault: a small change to a healthy run that makes it go wrong, with the truth about it: what
/// aplomb must say, when the harm is done, and whether the guard can act.
///
///     // train/lab/faults_diverge.cpp
///     void add_diverge_faults(std::vector<Fault>& roster) {
///       Fault fault;
///       fault.id = "diverge.lr-x200";
///       fault.summary = "two hundred times the learning rate";
///       fault.causes = {"diverge.lr-too-high"};
///       fault.harm = above_twin(1.5);                                // harm.h
///       fault.guard = GuardRole::avoids;
///       fault.run = trained([](LabRun& run) { run.options.optim.learning_rate *= 200; });
///       roster.push_back(std::move(fault));
///     }
///
/// A family is a file of its own; roster.cpp lists the families. lab_run.h has the healthy run that
/// most faults change; a Runner of another kind (a GRPO loop) is any function that fills a Trace
/// and leaves evidence (evidence.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace aplomb::train::lab {

/// What the user's logger wrote at a step (counted from 1: steps taken), under the names of
/// knowledge/series.yaml (`loss`, `grad_norm`, `lr`, `eval_loss`, `reward`, ...).
struct Sample {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

/// A run as it went.
struct Trace {
  std::vector<Sample> samples;     ///< in the order in which they were written
  std::int64_t planned_steps = 0;  ///< what the user asked for
  std::int64_t steps = 0;          ///< taken, the skipped ones included
  std::int64_t log_steps = 1;      ///< optimizer steps between two records
  double grad_clip = 0;            ///< 0: none
  double vocab_size = 0;           ///< 0: unknown to the user
  bool is_reinforcement = false;
  /// The guard's first act (skip, rollback, halt; clipping of an outlier), by step; -1: none.
  std::int64_t guard_acted_at = -1;
  /// Every such step, rising; the first is guard_acted_at.
  std::vector<std::int64_t> guard_acts;
  bool halted = false;  ///< the guard ended the run
  std::string error;    ///< what ended the run by itself, as the user saw it; empty: nothing
  std::vector<std::int64_t> resumed_at;  ///< steps of the checkpoints that were gone on from
  /// The step of the checkpoint that is the result; -1: the run's end.
  std::int64_t result_step = -1;

  /// Samples of one series, in order.
  std::vector<std::pair<std::int64_t, double>> series(std::string_view name) const;
};

/// How the evidence looks: each fault meets each over the seeds, so that no reader is left out.
enum class Style : std::uint8_t {
  own,    ///< aplomb train's: train.log, metrics.jsonl, events, train.yaml
  hf,     ///< Hugging Face Trainer's: {'loss': ...} lines, trainer_state.json, args.json
  plain,  ///< a loop of the user's own: `step 10 | loss 2.31 | ...`, config.yaml, train.py
};

struct Request {
  std::uint64_t seed = 1;
  /// Where the run may write; `before/` in it is what the user had before the run began (settings,
  /// program, model and data), `evidence/` what he has at the end.
  std::string folder;
  bool faulty = true;  ///< false: the healthy twin, the same run without the change
  bool guard = false;  ///< in force
  Style style = Style::own;
  bool keep_evidence = true;  ///< false: the Trace alone is wanted
};

/// Runs once. Deterministic: the same Request gives the same Trace.
using Runner = std::function<core::Result<Trace>(const Request&)>;

/// When the harm is done that the fault does: the step, or nothing where the run took none.
struct Harm {
  std::string text;  ///< `the first loss that is not finite`
  std::function<std::optional<std::int64_t>(const Trace& run, const Trace& twin)> at;
};

enum class GuardRole : std::uint8_t {
  avoids,   ///< with the guard in force there is no harm
  stops,    ///< it cannot mend it, but ends the run before more is lost
  nothing,  ///< nothing that can be done to a step helps
};
std::string_view name(GuardRole role);

struct Fault {
  std::string id;       ///< `<family>.<what was done>`; unlike a cause's it may hold a number
  std::string summary;  ///< one line
  /// What the diagnosis must name: the truth first, then others that are as right.
  std::vector<std::string> causes;
  std::string accept_because;  ///< why the others are as right; empty where there are none
  Harm harm;
  GuardRole guard = GuardRole::nothing;
  std::string guard_because;  ///< why the guard can or cannot help, in a few words
  /// The first step that differs from the healthy run's: what is said before it was not about the
  /// fault. What the user's files show before the run (alarm_before) is there from the start.
  std::int64_t begins = 0;
  /// The fault lies in code, so it can only be met in a loop of the user's own: Style::plain.
  bool in_code = false;
  Runner run;

  std::string family() const { return id.substr(0, id.find('.')); }
};

/// All faults, family after family; ids are unique.
const std::vector<Fault>& faults();
/// Null where there is none of this name.
const Fault* find_fault(std::string_view id);

// One a family, each in train/lab/faults_<family>.cpp.
void add_nan_faults(std::vector<Fault>& roster);
void add_diverge_faults(std::vector<Fault>& roster);
void add_stall_faults(std::vector<Fault>& roster);
void add_overfit_faults(std::vector<Fault>& roster);
void add_resume_faults(std::vector<Fault>& roster);
void add_rl_faults(std::vector<Fault>& roster);
void add_slow_faults(std::vector<Fault>& roster);

}  // namespace aplomb::train::lab

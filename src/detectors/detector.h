#pragma once
/// Detector: watches samples one by one and reports symptoms. The same object judges a finished run
/// and a live one: fed sample by sample it says the same as over the whole (each detector's test
/// holds it to that).
///
/// Rules for members: O(1) memory; NaN, Inf, gaps, repeated steps and steps that go back are normal
/// input; one bad sample never enters the statistics that judge the next; a threshold names its
/// source in the spec. A slug is the file's name, with a dot for a `_` where it has parts, and begins
/// as one of its symptoms does: `loss.spike` stands in loss_spike.cpp.
///
/// A new detector goes to the folder of what it looks at (loss_detectors, gradient_detectors,
/// policy_detectors, run_detectors): src/<folder>/<slug>.cpp with
/// `std::unique_ptr<detectors::Detector> make_<slug>_detector()`, tests/<folder>/<slug>_test.cpp,
/// one line in the folder's roster.def.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detectors/symptom.h"
#include "record/role.h"
#include "record/series.h"
#include "task/metric_words.h"
#include "task/stages.h"
#include "task/task.h"

namespace aplomb::detectors {

struct Parameter {
  std::string name;
  double value = 0;  ///< default
  std::string unit;  ///< `sigma`, `steps`, `fraction`, or empty
  double least = 0;
  double most = 0;
  std::string source;  ///< paper, framework's documented behaviour, or a benchmark here
};

/// Written once; feeds `aplomb list`, `aplomb explain SLUG`, the docs and the UI.
struct DetectorSpec {
  std::string slug;                   ///< `loss.spike`
  std::vector<std::string> symptoms;  ///< ids it may report
  std::string summary;                ///< what it finds, one line
  std::string why_bad;                ///< why that is bad
  std::string example;                ///< a series on which it fires
  std::vector<record::Role> inputs;   ///< roles it wants to see
  std::vector<Parameter> parameters;
  std::vector<std::string> references;
  /// It compares levels of a loss, which mean nothing across stages of the training
  /// (task/stages.h): the bank (detection/bank.h) begins with a fresh one at each.
  bool per_stage = false;
  /// Parts that it wants to see (task/metric_words.h), whatever the role of their series.
  std::vector<task::Part> parts = {};
};

/// One reading of a frame: a sample of one series.
struct Reading {
  record::Role role = record::Role::other;
  std::uint32_t series = 0;  ///< index into RunContext::series_names
  double value = 0;
  record::Origin origin;
  task::Part part = task::Part::none;
};

/// Everything that was logged for one step of one segment, training and evaluation alike.
struct Frame {
  std::int64_t step = 0;
  std::uint16_t segment =
      0;  ///< rises after each restart; detectors re-arm what must not look across
  std::span<const Reading> readings;
};

/// What a detector may ask about the whole run. Live, `planned_steps` is known from the
/// configuration or not at all.
struct RunContext {
  std::vector<std::string> series_names;  ///< by Reading::series
  std::optional<std::int64_t> planned_steps;
  bool reinforcement =
      false;  ///< reward series are present: the loss is a policy loss and may be 0 or negative
  record::StepKind step_kind = record::StepKind::explicit_;  ///< what the steps of frames count
  std::optional<double> grad_clip;   ///< configured threshold of the global norm
  std::optional<double> vocab_size;  ///< ln(vocab_size) is the loss of a model that knows nothing
  std::optional<std::int64_t> log_steps;   ///< optimizer steps between two records
  std::optional<std::int64_t> world_size;  ///< ranks that were started
  /// Steps that were the first after the artifact says that a checkpoint was loaded, rising; steps
  /// that merely go on show no restart.
  std::vector<std::int64_t> resumed_at;
  task::Task task;                  ///< what is trained, and its constants
  std::vector<task::Stage> stages;  ///< where the program begins another stage of its training
  std::vector<int> ranks;  ///< ranks that wrote a loss, sorted; empty where lines carry no rank

  /// What a step is called in summaries: `step`, `epoch`, `record`.
  std::string_view step_word() const;
  /// Whether steps are neither epochs nor numbers of records.
  bool counts_steps() const {
    return step_kind != record::StepKind::epoch && step_kind != record::StepKind::ordinal;
  }
};

class Detector {
 public:
  virtual ~Detector() = default;
  virtual const DetectorSpec& spec() const = 0;
  /// Sees the next frame (only those with a reading of a wanted role). Appends to `out` as soon as
  /// it is sure.
  virtual void observe(const Frame& frame, const RunContext& context,
                       std::vector<Symptom>& out) = 0;
  /// A run that goes on: what of finish() can be said already, where enough was seen to speak.
  /// Asked for whenever somebody looks (detection/bank.h); what is not said again is taken
  /// back.
  virtual void interim(const RunContext& context, std::vector<Symptom>& out) const;
  /// The run has ended (or the user asks): what can only be said over the whole, e.g.
  /// `loss.plateau`.
  virtual void finish(const RunContext& context, std::vector<Symptom>& out) = 0;
};

}  // namespace aplomb::detectors

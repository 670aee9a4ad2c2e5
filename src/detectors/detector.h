#pragma once
/// Detector: watches samples one by one and reports symptoms. The same object judges a finished run
/// and a live one: fed sample by sample it says the same as over the whole (each detector's test
/// holds it to that).
///
/// Rules for members: O(1) memory; NaN, Inf, gaps, repeated steps and steps that go back are normal
/// input; one bad sample never enters the statistics that judge the next; a threshold names its
/// source in the spec.
///
/// A new detector: src/detectors/<slug>.cpp with `std::unique_ptr<Detector>
/// make_<slug>_detector()`, tests/detectors/<slug>_test.cpp, one line in roster.def.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "detectors/symptom.h"
#include "record/role.h"
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
  /// (task/stages.h): the bank begins with a fresh one at each.
  bool per_stage = false;
  /// Parts that it wants to see (task/metric_words.h), whatever the role of their series.
  std::vector<task::Part> parts = {};
};

/// One reading of a frame: a sample of one series.
struct Reading {
  record::Role role = record::Role::other;
  std::uint32_t series = 0;  ///< index into the names given to DetectorBank
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
  bool steps_are_epochs = false;
  std::string step_word =
      "step";  ///< what a step is called in summaries: `step`, `epoch`, `record`
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
  /// Asked for whenever somebody looks (DetectorBank::so_far); what is not said again is taken
  /// back.
  virtual void interim(const RunContext& context, std::vector<Symptom>& out) const;
  /// The run has ended (or the user asks): what can only be said over the whole, e.g.
  /// `loss.plateau`.
  virtual void finish(const RunContext& context, std::vector<Symptom>& out) = 0;
};

/// A fresh set of every detector of the roster, in its order.
std::vector<std::unique_ptr<Detector>> make_detectors();

/// Feeds frames to every detector that wants them. A later report of the same symptom on the same
/// series replaces the earlier one: a detector may warn at once and say more (or less) when it has
/// seen the rest. One without a summary takes the earlier one back.
class DetectorBank {
 public:
  explicit DetectorBank(RunContext context);
  void observe(const Frame& frame);
  std::vector<Symptom> finish();
  /// What is said of the run as it stands. Valid until the next call; costs about as finish().
  const std::vector<Symptom>& so_far();
  const RunContext& context() const { return context_; }

 private:
  void begin_stage();

  RunContext context_;
  std::vector<std::unique_ptr<Detector>> detectors_;
  std::vector<std::uint64_t> wants_;  ///< one bit a role, by detector
  std::vector<std::uint64_t> parts_;  ///< likewise of the parts that it wants
  std::size_t stage_ = 0;             ///< stages that were begun
  std::vector<Symptom> symptoms_;
  std::vector<Symptom> fresh_;   ///< what the detectors said just now
  std::vector<Symptom> so_far_;  ///< symptoms_, and what holds for the moment
};

/// A finished run: frames made from its series by (segment, step), fed through a bank. Symptoms
/// come most severe first, then by step.
std::vector<Symptom> detect(const record::Run& run);

/// A run that goes on: what the detectors are sure of already, without what can only be said over
/// the whole. In the order in which it was seen.
std::vector<Symptom> detect_so_far(const record::Run& run);

}  // namespace aplomb::detectors

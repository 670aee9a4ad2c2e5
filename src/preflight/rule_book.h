#pragma once
/// RuleBook: knowledge/checks/*.yaml, parsed once: what can be said against a configuration before
/// it runs.
///
///     - id: precision.bf16-unsupported     # topic.slug; the topic is the file's name
///       title: The card has no bf16 matrix units
///       when: "precision.compute == bf16 && hardware.bf16 == false"   # as in causes (condition.h)
///       versions: {torch: "<2.0", transformers: ">=4.30 <4.46"}      # optional: all must hold;
///                                          # `? <5`: or the version is not known
///       severity: warning                  # what the run would become; note: only said
///       because: one paragraph; `{fact}` is replaced, a sentence with an unknown fact is left out
///       remedies: [{set: {precision.compute: fp16}, note: ...}]      # as in causes (remedy.h)
///       leads_to: [slow.no-fast-path]      # causes that the broken run would be diagnosed with
///       references: [...]
///       fires: [{precision.compute: bf16, env.gpu: T4}]               # settings that a test runs
///       silent: [{precision.compute: bf16, env.gpu: A100}]
///
/// The setting that a finding points at comes first in `when`. `trainer` in an example names the
/// framework whose settings they are.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/severity.h"
#include "diagnosis/condition.h"
#include "diagnosis/remedy.h"

namespace aplomb::preflight {

/// Bounds on one package: `>=4.30 <4.46`. `? <5` holds as well where the version is not known.
struct VersionRange {
  struct Bound {
    std::string relation;  ///< `<` `<=` `>` `>=` `==`
    std::string version;
  };
  std::string package;
  std::vector<Bound> bounds;
  bool or_unknown = false;

  bool holds(std::string_view version) const;
};

/// `2.10.1` against `2.9`: negative, zero, positive. Missing parts count as zero; what follows the
/// digits (`+cu118`, `rc1`) does not count.
int compare_versions(std::string_view a, std::string_view b);

using ExampleSettings = std::vector<std::pair<std::string, core::Value>>;

struct CheckRule {
  std::string id;
  std::string topic;
  std::string title;
  std::vector<diagnosis::Condition> when;  ///< exactly one
  std::vector<VersionRange> versions;
  core::Severity severity = core::Severity::note;
  std::string because;
  std::vector<diagnosis::RemedyRule> remedies;
  std::vector<std::string> leads_to;
  std::vector<std::string> references;
  std::vector<ExampleSettings> fires;
  std::vector<ExampleSettings> silent;
};

/// What a trainer does where its configuration says nothing, with the place that says so.
struct TrainerDefaults {
  std::string framework;  ///< slug; frameworks that extend it have them too
  std::vector<std::pair<std::string, core::Value>> settings;
  std::string source;
};

struct RuleBook {
  std::vector<CheckRule> rules;
  std::vector<TrainerDefaults> defaults;
  std::vector<std::string> mistakes;  ///< what could not be parsed; the tests hold this empty
};

/// The book that was embedded at build. Thread-safe after the first call.
const RuleBook& rule_book();

}  // namespace aplomb::preflight

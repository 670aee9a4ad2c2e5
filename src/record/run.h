#pragma once
/// Run: all that is known of one training run. Readers (src/sources) fill it through a RunBuilder,
/// detectors and the diagnosis read it. Nothing here knows a file format or a framework.
///
/// Ownership: a Run owns everything in it; it is moved, not shared. Not thread-safe while being
/// built.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/severity.h"
#include "core/value.h"
#include "record/role.h"
#include "record/series.h"

namespace aplomb::record {

/// One normalised configuration value: `optim.lr = 0.0002`, whatever framework spelled it.
struct Setting {
  std::string name;  ///< canonical: declared in knowledge/settings.yaml
  core::Value value;
  std::string raw_key;    ///< `learning_rate`, `--lr`, `bf16.enabled`
  std::string framework;  ///< slug of knowledge/frameworks, empty where unknown
  Origin origin;
};

/// A line that matters: an error, a warning, a restart, a skipped step. `kind` is the slug of an
/// error signature (knowledge/errors.yaml) or one of the structural kinds: `traceback`, `restart`,
/// `truncated`.
struct Event {
  std::string kind;
  core::Severity severity = core::Severity::note;
  int rank = -1;
  std::optional<std::int64_t> step;  ///< the optimizer step last seen before it
  std::string text;                  ///< the line, sanitized, at most 400 characters
  std::map<std::string, core::Value>
      caught;  ///< numbers and words parsed from it: `requested_bytes`, `op`
  Origin origin;
};

/// A named, typed value with provenance: the only thing that the knowledge base can see.
/// Names are declared with their types in knowledge/facts.yaml; a fact that is not set is unknown.
struct Fact {
  std::string name;
  core::Value value;
  std::string because;  ///< one phrase for people: `grad_norm 8.1 -> nan at step 312`
  std::vector<Origin> evidence;
};

/// A part of the input that could not be read: where, what, how bad. Never silent: the report shows
/// every one.
struct Defect {
  SourceId source = 0;
  std::uint64_t offset = 0;
  std::string
      kind;  ///< `truncated`, `bad-crc`, `not-utf8`, `too-long-line`, `bad-number`, `unreadable`
  core::Severity severity = core::Severity::warning;
  std::string text;         ///< `[who] what, with the numbers; likely reason; what to do`
  std::uint64_t times = 1;  ///< equal defects of one source are counted, not repeated
};

/// One artifact that was looked at.
struct Source {
  std::string path;  ///< as the user gave it, or found below a folder
  std::string kind;  ///< slug of the reader, `unknown` where none wanted it
  std::uint64_t bytes = 0;
  std::string framework;  ///< slug of the framework it seems to come from, empty where unknown
};

struct Run {
  std::string name;  ///< folder or file that it was found in
  std::vector<Source> sources;
  std::vector<Series> series;
  std::vector<Setting> settings;  ///< in order of reading; a later one of the same name wins
  std::vector<Event> events;
  std::vector<Fact> facts;  ///< set by readers that know more than series and settings
  std::vector<Defect> defects;
  std::uint64_t restarts = 0;

  /// The series that stands for a role: most samples, explicit steps before others, lowest rank.
  /// Null where none.
  const Series* primary(Role role) const;
  /// Likewise by normalised name.
  const Series* find(std::string_view series_name) const;
  /// Where people would look a sample of `wanted` up: the same metric in an artifact with lines
  /// (the log beside an event file), if it holds the same samples in the same order, as far as
  /// printed digits tell; else `wanted` itself.
  const Series& shown_by(const Series& wanted) const;
  const Setting* setting(std::string_view setting_name) const;
  /// The framework most sources agree on; empty where none is known.
  std::string framework() const;
};

}  // namespace aplomb::record

#pragma once
/// SignatureTable: the error signatures of knowledge/errors.yaml, errors_training.yaml and
/// errors/*.yaml, ready to match. Loaded once, at first use; the regular expressions of a signature
/// are compiled when a line first needs them.
///
/// A signature (see the head of knowledge/errors.yaml for the YAML):
///     - id: cuda-oom                   # the Event's kind; `error.cuda-oom` for the knowledge base
///       any: ["CUDA out of memory"]    # literal pieces of at least 5 bytes, in either case
///       require: '(?i)tried to'        # RE2 that must match as well
///       unless: 'caught and retried'   # RE2 that must not
///       pattern: ['(?P<requested>\S+)'] # RE2s whose named groups are caught; need not match
///       per: [rank]                    # caught names that make two events different ones;
///                                      # without it one kind is one event
///       lines: 4                       # so many further lines belong to the message as well
///       stack: true                    # a stack follows: its innermost frame outside of libraries
///                                      # is the place of the event, and caught as `line_text`
///       at_end: true                   # counts only where next to nothing stands behind it
///       severity: failed               # note | warning | unstable | failed
///       role: root                     # root (default) | cascade (follows from another failure)
///                                      # | symptom (what a user or a profile says) | frame (a
///                                      # stack frame: tells where the next error happened) |
///                                      # table (the head of a table of src/tool_tables)
///       in_logs: true                  # of a symptom: trainers and tools print it; without it a
///                                      # symptom is what people write, and counts in short texts
///       place: in_backward             # of a frame: the name that the error then catches as true

#include <re2/re2.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/literal_filter.h"
#include "core/severity.h"
#include "knowledge/document.h"

namespace aplomb::log_errors {

enum class SignatureRole { root, cascade, symptom, frame, table };

struct Signature {
  std::string kind;
  std::string title;
  core::Severity severity = core::Severity::note;
  SignatureRole role = SignatureRole::root;
  std::string place;
  bool in_logs = false;
  bool stack = false;
  bool at_end = false;
  std::vector<std::string> literals;
  std::string require_text;
  std::string unless_text;
  std::vector<std::string> pattern_texts;
  std::vector<std::string> per;
  unsigned lines = 0;
  std::size_t table = 0;  ///< of role table: its index in table_kinds()

  /// The compiled expressions, made at first use. One that does not compile is null and never
  /// matches.
  struct Compiled {
    std::unique_ptr<RE2> require;
    std::unique_ptr<RE2> unless;
    std::vector<std::unique_ptr<RE2>> patterns;
    std::vector<std::string>
        broken;  ///< what RE2 says of those that do not compile (the tests look here)
  };
  const Compiled& compiled() const;

 private:
  mutable std::once_flag once_;
  mutable Compiled compiled_;
};

class SignatureTable {
 public:
  /// The table of the embedded knowledge.
  static const SignatureTable& instance();

  const std::vector<std::unique_ptr<Signature>>& all() const { return signatures_; }
  const core::LiteralFilter& filter() const { return filter_; }
  const Signature* find(std::string_view kind) const;
  /// Entries that could not be used, with the reason: empty unless the knowledge has a mistake (the
  /// tests look here).
  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  SignatureTable();
  void load(std::string_view path, const knowledge::Node& content);
  void add_tables();
  void add(std::unique_ptr<Signature> signature);
  std::vector<std::unique_ptr<Signature>> signatures_;
  core::LiteralFilter filter_;
  std::vector<std::string> mistakes_;
};

}  // namespace aplomb::log_errors

#pragma once
/// CodeBook: what can be wrong with a training program (knowledge/code/*/*.yaml), one entry a
/// finding, used alike by the audit of whole programs (python/aplomb/audit), the patterns for
/// fragments (program/code_facts.h), the
/// causes (diagnosis/cause_book.h) and `aplomb explain`.
///
///     - id: code.clip-after-step          # the fact that the finding gives, and its name
///       title: ...
///       level: mistake                    # wrong whatever the curves say; or `suspicion`
///       severity: unstable                # note | warning | unstable | failed: what the run
///       becomes because: ...              # `{clip}` is filled in with what the rule saw
///       fix: ...                          # where the rule itself has no corrected line
///       leads_to: [diverge.no-grad-clip]  # those of `supports` where it is missing
///       supports: {diverge.no-grad-clip: 3.5}   # nats for these causes, where the finding is sure
///       same_as: precision.pure-bf16      # the check rule that tells the same from settings: it is
///                                         # told once, by that rule
///       from_capability: 8                # older cards have no such units: nothing is told of them
///       before_capability: 8              # told only where the card is known, and older
///       only_fragment: true               # no rule of the audit: patterns alone
///       fragment: [...]                   # patterns; see program/code_facts.h
///
/// `- {sign: code.backward, any: [...]}` is no finding: what patterns are built on.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/severity.h"
#include "knowledge/document.h"

namespace aplomb::knowledge {

/// One pattern of a finding or sign: of a statement (`any`), or of what the text shows (`has`).
struct CodePattern {
  std::vector<std::string> any, unless, then;
  std::vector<std::string> has, lacks;
  bool indented = false;  ///< `then` stands no further left than `any`: in the same loop
  bool whole = false;     ///< a mistake where the text is a whole program (`code.program`)
};

struct CodeEntry {
  std::string id;        ///< `code.clip-after-step`
  bool is_sign = false;  ///< no finding: what patterns are built on
  std::string title;
  bool is_mistake = false;  ///< wrong whatever the curves say
  core::Severity severity = core::Severity::warning;
  std::string because;
  std::string fix;
  std::vector<std::string> leads_to;
  std::vector<std::pair<std::string, double>> supports;  ///< cause, nats
  std::string same_as;                                   ///< id of a rule of knowledge/checks
  double from_capability = 0;    ///< compute capability of the cards that it is about; 0: of all
  double before_capability = 0;  ///< only of cards that are known to be older than that; 0: of all
  bool only_fragment = false;
  std::vector<CodePattern> patterns;
};

struct CodeBook {
  std::vector<CodeEntry> entries;     ///< patterns stand behind those that they are built on
  std::vector<std::string> mistakes;  ///< what is wrong with the files; the tests hold this empty

  const CodeEntry* find(std::string_view id) const;
};

/// The book that was embedded at build. Thread-safe after the first call.
const CodeBook& code_book();

/// `code.mistake.clip-after-step` of `code.clip-after-step`: the fact of a finding that is sure.
std::string mistake_fact(std::string_view id);

/// A text of an entry with `{name}` replaced; a name that is not given becomes the words that stand
/// for anything (`the optimizer` of `{optimizer}`).
std::string filled_in(std::string_view text,
                      const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace aplomb::knowledge

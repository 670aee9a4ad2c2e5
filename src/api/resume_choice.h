#pragma once
/// Which checkpoint of a run to resume from: the newest that is whole (all that a resume needs, as
/// the other checkpoints of the run have it), finite (weights and moments) and safe (no pickle that
/// could run anything). Each newer one says why it is left; which are worth keeping is told too.
///
///     auto choice = choose_resume("out");
///     if (choice && choice->resume) use(choice->candidates[*choice->resume].path);
///
/// Reads every byte of those that it judges: the newest ones down to the choice, and the best.
/// Writes and removes nothing.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::api {

struct ResumeCandidate {
  std::string path;
  std::optional<std::int64_t> step;
  std::uint64_t bytes = 0;  ///< of all its files
  bool judged = false;      ///< what is older than the choice is not looked into
  std::vector<std::string> why_left;
  std::vector<std::string> notes;  ///< of one that may be taken: what will differ
  /// Its weights are whole, finite and safe, whatever else is missing.
  bool good_weights = false;

  bool good() const { return judged && why_left.empty(); }
};

struct ResumeChoice {
  std::vector<ResumeCandidate> candidates;  ///< newest first
  std::optional<std::size_t> resume;        ///< index into candidates
  /// Where none can be resumed from: the newest whose weights alone can be loaded.
  std::optional<std::size_t> weights_alone;
  std::optional<std::size_t> best;     ///< as the run's own trainer_state.json has it
  std::string best_because;            ///< `eval_loss 1.83, the lowest that was logged`
  std::vector<std::string> elsewhere;  ///< folders of other runs below the path, not judged
};

struct ResumeOptions {
  /// Takes `pickle.suspicious` (classes that are on no list: the project's own) for safe.
  bool accept_suspicious = false;
  int threads = 1;
  /// Called with the path that is looked into next; may be empty.
  std::function<void(const std::string& path)> progress;
};

/// Errors: not_found (no checkpoint below the path).
core::Result<ResumeChoice> choose_resume(const std::string& run, const ResumeOptions& options = {});

}  // namespace aplomb::api

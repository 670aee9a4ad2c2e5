#pragma once
/// What a run trains, and the constants of that task: classes, vocabulary, batch, steps a pass, and
/// the loss of a model that knows nothing. An expert reads a bare log against these numbers; so do
/// the detectors.
///
///     const Task task = recognise(run);
///     if (task.guess) ...   // ln 8 = 2.079 for a classifier of 8 classes
///
/// Everything is optional: nothing is assumed where no sign was seen.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/run.h"
#include "task/elsewhere.h"

namespace aplomb::task {

enum class Kind : std::uint8_t {
  unknown,
  causal_lm,
  masked_lm,
  seq2seq,
  classifier,
  token_classifier,
  regression,
  autoencoder,
  vae,
  gan,
  diffusion,
  contrastive,
  preference,
  policy,
  value,
  detection,
  segmentation,
  distillation,
  count_,  // keep last
};

/// `causal_lm`, as in knowledge/tasks.yaml; `unknown`.
std::string_view name(Kind kind);

/// A number, how it is known, and where that stands.
struct Constant {
  double value = 0;
  std::string because;
  std::vector<record::Origin> evidence;
};

struct Task {
  Kind kind = Kind::unknown;
  std::string title;    ///< for people: `a classifier`
  std::string because;  ///< `eval_accuracy, data.class_count`
  std::optional<Constant> classes;
  std::optional<Constant> vocabulary;
  std::optional<Constant> batch;         ///< samples of one forward pass on one device
  std::optional<Constant> accumulation;  ///< forward passes an optimizer step
  std::optional<Constant> world;         ///< data-parallel ranks
  std::optional<Constant> samples;       ///< of one pass over the training data
  std::optional<Constant> steps_per_pass;
  /// Loss of a model that knows nothing, in nats; `because` names it: `ln 8`.
  std::optional<Constant> guess;
  std::optional<Elsewhere> elsewhere;      ///< a score that is far worse on other data
  std::optional<Elsewhere> training_only;  ///< a score that held-out data have nothing of
  /// The first training loss is that of a guess: the weights are fresh.
  bool from_scratch = false;

  bool of_characters = false;  ///< the tokens of the language model are characters of a text

  /// Losses are mean cross-entropies, bounded below by 0.
  bool is_cross_entropy() const;
};

Task recognise(const record::Run& run);

/// The task as facts for the diagnosis: `task.kind`, `task.classes`, `task.guess`, ...
std::vector<record::Fact> facts_of(const Task& task);

/// What is wrong with knowledge/tasks.yaml; the tests hold this empty.
std::vector<std::string> tasks_mistakes();

}  // namespace aplomb::task

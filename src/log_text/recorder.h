#pragma once
/// Recorder: puts the samples of a log into the Run, each at its step.
///
/// Where a line states its step, that is the step. Where it does not, the first two samples of a
/// series decide what its steps are: the step stated last (by a bar or a head line before each),
/// the epoch, or, where neither moved between them, the number of the sample. Held-out results
/// stand at the training step before them.

#include <cstdint>
#include <vector>

#include "log_text/keys.h"
#include "log_text/steps.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

class Recorder {
 public:
  Recorder(const KeyTable& keys, record::RunBuilder& build, record::SourceId source)
      : keys_(keys), build_(build), source_(source) {}

  /// The samples that follow stand in this line, of this rank (-1: none said).
  void begin(const Place& place, int rank, std::uint64_t line, std::uint64_t offset);
  void sample(KeyId key, double value) {
    ++samples_;
    if (key < now_->lines.size() && now_->lines[key].open) {
      Line& line = now_->lines[key];
      const bool stated = now_step_.has_value();
      if (stated || line.mode == Mode::ordinal) {
        const std::int64_t step = stated ? *now_step_ : next_ordinal(line, now_epoch_);
        put(*now_, line, step, value, now_line_, now_offset_);
        return;
      }
    }
    place(key, value);
  }
  /// A step that is known from elsewhere (a progress bar), for lines that state none.
  void context(const Place& place, int rank);
  /// Puts what waited for a second sample; names the loss of a log that never prints a plain one.
  void finish();

  /// So many records of training were left out: where samples are counted, they count.
  void left_out(std::uint64_t records);

  std::uint64_t samples() const { return samples_; }
  const StepTracker& tracker(int rank);

 private:
  enum class Mode : std::uint8_t { undecided, stated, context, epoch, ordinal };
  struct Held {
    double value = 0;
    std::optional<std::int64_t> context;
    double epoch = Place::k_none;
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
  };
  struct Line {  ///< the series of one key and rank
    record::SeriesId id = 0;
    Mode mode = Mode::undecided;
    bool open = false;
    bool held = false;
    bool eval = false;     ///< of held-out data
    bool counted = false;  ///< placed by samples of training that are merely counted themselves
    std::int64_t last = 0;
    std::int64_t ordinal = 0;
    double epoch = Place::k_none;
    Held first;
  };
  struct Rank {
    StepTracker tracker;
    std::vector<Line> lines;              ///< by key
    std::optional<std::int64_t> trained;  ///< step of the last training sample
    bool trained_counts = false;          ///< that step is a count of samples
  };

  struct Total {
    double steps = 0;
    std::uint64_t times = 0;
    bool mixed = false;  ///< of parts of the run, or of several
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
  };

  void note_total(const Place& place, std::uint64_t line, std::uint64_t offset);
  void put_total();
  Rank& rank_state(int rank);
  static record::StepKind kind_of(Mode mode);
  void put(Rank& state, Line& target, std::int64_t step, double value, std::uint64_t line,
           std::uint64_t offset) {
    target.last = step;
    build_.append(target.id, step, value, line, offset);
    if (target.eval) return;
    state.trained = step;
    state.trained_counts = target.mode == Mode::ordinal;
  }
  void place(KeyId key, double value);
  void open(Line& line, KeyId key, Mode mode, int rank);
  void decide(Rank& state, KeyId key, const Held& second);
  void release(Rank& state, KeyId key, std::int64_t step);
  /// Epochs that start over are the only sign of a restart where samples are merely counted.
  static std::int64_t next_ordinal(Line& line, double epoch) {
    const bool back = epoch < line.epoch - 0.5;
    line.epoch = epoch;
    line.ordinal = back ? 0 : line.ordinal + 1;
    return line.ordinal;
  }
  std::int64_t implied_step(Rank& state, KeyId key, const Held& sample);
  void tell_pass_length();
  void name_the_loss();

  const KeyTable& keys_;
  record::RunBuilder& build_;
  record::SourceId source_;
  std::vector<Rank> ranks_;
  Rank* now_ = nullptr;
  int now_rank_ = -1;
  std::optional<std::int64_t> now_step_;
  double now_epoch_ = Place::k_none;
  std::uint64_t now_line_ = 0;
  std::uint64_t now_offset_ = 0;
  std::uint64_t samples_ = 0;
  Total total_;
};

}  // namespace aplomb::log_text

#include "log_text/recorder.h"

#include <algorithm>
#include <cmath>

namespace aplomb::log_text {
namespace {

constexpr int k_most_ranks = 4096;

bool is_whole(double epoch) { return epoch == std::floor(epoch) && std::fabs(epoch) < 1e9; }

}  // namespace

Recorder::Rank& Recorder::rank_state(int rank) {
  const auto index = static_cast<std::size_t>(rank < 0 || rank >= k_most_ranks ? 0 : rank + 1);
  if (index >= ranks_.size()) ranks_.resize(index + 1);
  return ranks_[index];
}

record::StepKind Recorder::kind_of(Mode mode) {
  if (mode == Mode::stated || mode == Mode::context) return record::StepKind::explicit_;
  return mode == Mode::epoch ? record::StepKind::epoch : record::StepKind::ordinal;
}

const StepTracker& Recorder::tracker(int rank) { return rank_state(rank).tracker; }

void Recorder::begin(const Place& place, int rank, std::uint64_t line, std::uint64_t offset) {
  note_total(place, line, offset);
  now_ = &rank_state(rank);
  now_rank_ = rank >= k_most_ranks ? -1 : rank;
  now_step_ = now_->tracker.note(place);
  now_epoch_ = std::isnan(place.epoch) ? now_->tracker.epoch() : place.epoch;
  now_line_ = line;
  now_offset_ = offset;
}

/// `step 30/12000`: how long the run is to be, where all records say the same.
void Recorder::note_total(const Place& place, std::uint64_t line, std::uint64_t offset) {
  if (std::isnan(place.step) || std::isnan(place.step_total)) return;
  const bool whole = std::isnan(place.epoch) && place.step <= place.step_total;
  const bool same = total_.times == 0 || place.step_total == total_.steps;
  total_.mixed = total_.mixed || !whole || !same;
  if (total_.times++ == 0) total_ = {place.step_total, 1, total_.mixed, line, offset};
}

/// The total that the records gave, unless a configuration gave one.
void Recorder::put_total() {
  constexpr std::uint64_t k_least = 5;  // records: fewer may speak of something else
  if (total_.mixed || total_.times < k_least || build_.run().setting("train.max_steps") != nullptr)
    return;
  build_.setting({"train.max_steps",
                  core::Value(total_.steps),
                  "steps of the run",
                  {},
                  {source_, total_.line, total_.offset}});
}

void Recorder::context(const Place& place, int rank) { rank_state(rank).tracker.note(place); }

void Recorder::open(Line& line, KeyId key, Mode mode, int rank) {
  const Key& known = keys_[key];
  // A count is no step, whatever is placed by it.
  const bool counted = mode == Mode::context && line.counted;
  const record::StepKind kind = counted ? record::StepKind::ordinal : kind_of(mode);
  line.id = build_.series(source_, known.series, known.raw, known.role, kind, rank);
  line.mode = mode;
  line.open = true;
  line.eval = known.eval;
}

void Recorder::release(Rank& state, KeyId key, std::int64_t step) {
  Line& line = state.lines[key];
  if (!line.held) return;
  line.held = false;
  put(state, line, step, line.first.value, line.first.line, line.first.offset);
}

/// A sample of a line without a step, or the first of its series.
void Recorder::place(KeyId key, double value) {
  Rank& state = *now_;
  if (key >= state.lines.size()) state.lines.resize(std::max<std::size_t>(keys_.size(), key + 1));
  Line& line = state.lines[key];
  if (now_step_) {
    if (!line.open) {
      open(line, key, Mode::stated, now_rank_);
      release(state, key, std::min(line.first.context.value_or(0), *now_step_));
    }
    put(state, line, *now_step_, value, now_line_, now_offset_);
    return;
  }
  Held sample{value, state.tracker.step(), now_epoch_, now_line_, now_offset_};
  if (keys_[key].eval && !sample.context) {
    sample.context = state.trained;
    line.counted = line.counted || (state.trained && state.trained_counts);
  }
  if (line.open) {
    put(state, line, implied_step(state, key, sample), value, now_line_, now_offset_);
  } else if (!line.held) {
    line.held = true;
    line.first = sample;
  } else {
    decide(state, key, sample);
  }
}

/// The second sample of a series without stated steps: what moved since the first counts its steps.
void Recorder::decide(Rank& state, KeyId key, const Held& second) {
  Line& line = state.lines[key];
  const Held first = line.first;
  Mode mode = Mode::ordinal;
  std::int64_t first_step = 0;
  // NOLINTNEXTLINE(bugprone-branch-clone): the last branch is a last resort, not the same case
  if (first.context && second.context && *second.context != *first.context) {
    mode = Mode::context;
    first_step = *first.context;
  } else if (!first.context && second.context) {
    mode = Mode::context;  // the log begins behind the bar of its first record
    first_step = std::max<std::int64_t>(0, *second.context - 1);
  } else if (!std::isnan(first.epoch) && first.epoch != second.epoch && is_whole(first.epoch) &&
             is_whole(second.epoch)) {
    mode = Mode::epoch;
    first_step = static_cast<std::int64_t>(first.epoch);
  } else if (keys_[key].eval && first.context) {
    mode = Mode::context;
    first_step = *first.context;
  }
  open(line, key, mode, now_rank_);
  line.epoch = first.epoch;
  release(state, key, first_step);
  put(state, line, implied_step(state, key, second), second.value, second.line, second.offset);
}

std::int64_t Recorder::implied_step(Rank& state, KeyId key, const Held& sample) {
  Line& line = state.lines[key];
  switch (line.mode) {
    case Mode::stated:
    case Mode::context:
      return sample.context.value_or(line.last);
    case Mode::epoch:
      if (std::isnan(sample.epoch)) return line.last;
      return static_cast<std::int64_t>(std::floor(sample.epoch));
    case Mode::ordinal:
    case Mode::undecided:
      break;
  }
  return next_ordinal(line, sample.epoch);
}

void Recorder::left_out(std::uint64_t records) {
  for (Rank& state : ranks_) {
    for (Line& line : state.lines) {
      if (line.open && line.mode == Mode::ordinal && !line.eval)
        line.ordinal += static_cast<std::int64_t>(records);
    }
  }
}

void Recorder::finish() {
  put_total();
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    Rank& state = ranks_[index];
    for (KeyId key = 0; key < state.lines.size(); ++key) {
      Line& line = state.lines[key];
      if (!line.held) continue;
      const bool epoch = !line.first.context && is_whole(line.first.epoch);
      const Mode mode = line.first.context ? Mode::context : epoch ? Mode::epoch : Mode::ordinal;
      open(line, key, mode, static_cast<int>(index) - 1);
      const auto step =
          line.first.context.value_or(epoch ? static_cast<std::int64_t>(line.first.epoch) : 0);
      release(state, key, step);
    }
  }
  tell_pass_length();
  name_the_loss();
}

/// Counts within epochs say how many steps a pass has.
void Recorder::tell_pass_length() {
  for (const Rank& state : ranks_) {
    const std::optional<double> length = state.tracker.pass_length();
    if (!length || !(*length >= 1)) continue;
    build_.fact({"log.steps_per_pass", *length, "steps counted within epochs", {}});
    return;
  }
}

/// A log whose only loss is called after its kind (`ctc_loss`): that one is the loss, not an addend
/// of one that is never printed.
void Recorder::name_the_loss() {
  std::vector<record::Series>& all = build_.run().series;
  record::Series* only = nullptr;
  for (record::Series& series : all) {
    if (series.source != source_ || series.empty()) continue;
    if (series.role == record::Role::loss) return;
    if (series.role != record::Role::loss_component) continue;
    if (only != nullptr && only->name != series.name) return;
    if (only == nullptr) only = &series;
  }
  if (only == nullptr) return;
  const std::string name = only->name;
  for (record::Series& series : all) {
    if (series.source == source_ && series.name == name) series.role = record::Role::loss;
  }
}

}  // namespace aplomb::log_text

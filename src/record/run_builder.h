#pragma once
/// RunBuilder: the one door through which readers put what they found into a Run. It keeps what
/// every reader would otherwise do again: one Series per (name, rank), restarts when steps go back,
/// bounded counts of equal defects.
///
///     RunBuilder build(run);
///     SourceId id = build.open("out/train.log", "text-log", size);
///     SeriesId loss = build.series(id, "loss", "train/loss", Role::loss, StepKind::explicit_);
///     build.append(loss, step, value, line, offset);           // hot: no allocation, no lookup
///
/// Nothing throws but std::bad_alloc. Not thread-safe; several builders on several Runs may work at
/// once.

#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/run.h"

namespace aplomb::record {

using SeriesId = std::uint32_t;

class RunBuilder {
 public:
  static constexpr SeriesId k_dropped =
      0xFFFFFFFF;  ///< of a name beyond k_max_series: takes no samples
  static constexpr std::size_t k_max_series =
      4096;  ///< further names of one run are dropped with a Defect
  static constexpr std::size_t k_max_events =
      4096;  ///< further events likewise (the first and last are kept)
  static constexpr std::size_t k_max_settings =
      16384;  ///< further settings replace the last of their name
  static constexpr std::size_t k_max_facts = 4096;  ///< that readers know; further ones are dropped
  static constexpr std::size_t k_max_defects = 256;

  /// The Run may hold something already: what is there stays, and keeps its ids.
  explicit RunBuilder(Run& run) : run_(run) { make_room(); }

  SourceId open(std::string path, std::string kind, std::uint64_t bytes);
  Source& source(SourceId id) { return run_.sources[id]; }
  /// Says that one rank wrote this source: its series and events are of that rank unless they say
  /// another. -1: not so.
  void speak_for_rank(SourceId id, int rank) { states_[id].rank = rank; }

  /// The Series of this name and rank from this source (made at first use). The same id for the
  /// same arguments.
  SeriesId series(SourceId source, std::string_view name, std::string_view raw_name, Role role,
                  StepKind kind, int rank = -1);

  /// Adds a sample. A step lower than the last one of this series starts a new segment of its
  /// source (a restart), unless the source's segment has risen already.
  void append(SeriesId series, std::int64_t step, double value, std::uint64_t line,
              std::uint64_t offset) {
    if (series == k_dropped) return;
    SeriesState& place = series_states_[series];
    SourceState& state = states_[place.source];
    if (step < place.last_step && place.segment == state.segment) restart(state);
    place.segment = state.segment;
    place.last_step = step;
    state.note(step);
    run_.series[series].append(step, value, state.segment, line, offset);
  }

  void setting(Setting setting);
  void event(Event event);
  void fact(Fact fact);
  void defect(Defect defect);

  /// The highest step that this source has given so far; nothing before the first.
  std::optional<std::int64_t> last_step(SourceId source) const;

  Run& run() { return run_; }

 private:
  struct SourceState {
    std::uint16_t segment = 0;
    int rank = -1;
    bool stepped = false;  ///< last_step is one
    std::int64_t last_step = 0;
    void note(std::int64_t step) {
      if (stepped && step <= last_step) return;
      stepped = true;
      last_step = step;
    }
  };
  struct SeriesState {
    SourceId source = 0;
    std::uint16_t segment = 0;
    std::int64_t last_step = std::numeric_limits<std::int64_t>::min();
  };
  void restart(SourceState& state);
  /// One more of a kind that was left out of a full table: counted in its Defect.
  void left_out(SourceId source, const char* kind, std::size_t most, const char* what);
  /// A state for each source and series of the Run, also for those that another builder made.
  void make_room() {
    states_.resize(run_.sources.size());
    while (series_states_.size() < run_.series.size())
      series_states_.push_back({run_.series[series_states_.size()].source});
  }

  Run& run_;
  std::vector<SourceState> states_;
  std::vector<SeriesState> series_states_;
  std::unordered_map<std::string, SeriesId> ids_;
  std::unordered_map<std::string, std::size_t> last_setting_;  ///< by name, once the table is full
};

}  // namespace aplomb::record

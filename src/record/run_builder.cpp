#include "record/run_builder.h"

#include <fmt/format.h>

#include <limits>

namespace aplomb::record {

SourceId RunBuilder::open(std::string path, std::string kind, std::uint64_t bytes) {
  run_.sources.push_back({std::move(path), std::move(kind), bytes, {}});
  make_room();
  return static_cast<SourceId>(run_.sources.size() - 1);
}

SeriesId RunBuilder::series(SourceId source, std::string_view name, std::string_view raw_name,
                            Role role, StepKind kind, int rank) {
  if (rank < 0) rank = states_[source].rank;
  std::string key = fmt::format("{}\x1f{}\x1f{}\x1f{}", source, rank, name, raw_name);
  if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  if (run_.series.size() >= k_max_series) {
    left_out(source, "too-many-series", k_max_series,
             "different metric names; likely numbers in the names; the others are left out");
    return k_dropped;
  }
  Series fresh;
  fresh.name = std::string(name);
  fresh.raw_name = std::string(raw_name);
  fresh.role = role;
  fresh.step_kind = kind;
  fresh.rank = rank;
  fresh.source = source;
  run_.series.push_back(std::move(fresh));
  make_room();
  series_states_.back().segment = states_[source].segment;
  const auto id = static_cast<SeriesId>(run_.series.size() - 1);
  ids_.emplace(std::move(key), id);
  return id;
}

/// The step went back: a new segment for all series of the source.
void RunBuilder::restart(SourceState& state) {
  if (state.segment == std::numeric_limits<std::uint16_t>::max()) return;
  ++state.segment;
  ++run_.restarts;
}

void RunBuilder::left_out(SourceId source, const char* kind, std::size_t most, const char* what) {
  for (Defect& known : run_.defects) {
    if (known.source != source || known.kind != kind) continue;
    ++known.times;
    return;
  }
  defect({source, 0, kind, core::Severity::warning,
          fmt::format("[record] more than {} {}", most, what)});
}

void RunBuilder::setting(Setting setting) {
  if (run_.settings.size() < k_max_settings) {
    run_.settings.push_back(std::move(setting));
    return;
  }
  left_out(setting.origin.source, "too-many-settings", k_max_settings,
           "settings; likely a value that is logged at every step; of each further one only the "
           "newest value is kept");
  if (last_setting_.empty()) {
    for (std::size_t i = 0; i < run_.settings.size(); ++i) last_setting_[run_.settings[i].name] = i;
  }
  // The newest value of a name wins wherever it stands. A name that is new takes the place of the
  // first setting that a later one of its name has overruled; there is one, as names are few.
  const auto [known, fresh] = last_setting_.try_emplace(setting.name, 0);
  for (std::size_t i = 0; fresh && i < run_.settings.size(); ++i) {
    if (last_setting_[run_.settings[i].name] == i) continue;
    known->second = i;
    break;
  }
  run_.settings[known->second] = std::move(setting);
}

void RunBuilder::event(Event event) {
  if (event.rank < 0 && event.origin.source < states_.size()) {
    event.rank = states_[event.origin.source].rank;
  }
  // The first half of the room is for the first events, the last place for the newest: an error at
  // the end of a log of a million warnings must stay.
  if (run_.events.size() >= k_max_events) {
    left_out(event.origin.source, "too-many-events", k_max_events,
             "errors, warnings and tracebacks; the first of them and the last are kept");
    run_.events.back() = std::move(event);
    return;
  }
  run_.events.push_back(std::move(event));
}

void RunBuilder::fact(Fact fact) {
  if (run_.facts.size() < k_max_facts) run_.facts.push_back(std::move(fact));
}

void RunBuilder::defect(Defect defect) {
  for (Defect& known : run_.defects) {
    if (known.source == defect.source && known.kind == defect.kind) {
      ++known.times;
      return;
    }
  }
  if (run_.defects.size() < k_max_defects) run_.defects.push_back(std::move(defect));
}

std::optional<std::int64_t> RunBuilder::last_step(SourceId source) const {
  const SourceState& state = states_[source];
  if (!state.stepped) return std::nullopt;
  return state.last_step;
}

}  // namespace aplomb::record

/// detect(): a finished Run as frames. A streaming merge of the series that detectors want, by
/// (segment, step); nothing is copied but the readings of the frame at hand.

#include "detection/detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>

#include "detection/bank.h"

namespace aplomb::detection {
namespace {

/// A run of a detection model has a dozen loss components; more names than this are numbers in
/// disguise.
constexpr std::size_t k_most_of_a_kind = 48;

constexpr std::array k_many{record::Role::loss_component,   record::Role::eval_component,
                            record::Role::reward_component, record::Role::reward_component_std,
                            record::Role::eval_metric,      record::Role::eval_accuracy};

bool is_many(record::Role role) {
  return std::find(k_many.begin(), k_many.end(), role) != k_many.end();
}

task::Part part_of(const record::Series& series) {
  return task::metric_words(series.raw_name).part;
}

/// Every series that a detector may want: the primary one of each role, all names of the roles that
/// have many, and of those without a known role the ones that hold NaN or Inf or have a part in the
/// task.
std::vector<const record::Series*> choose(const record::Run& run) {
  std::vector<const record::Series*> chosen;
  for (unsigned i = 1; i < static_cast<unsigned>(record::Role::count_); ++i) {
    const record::Role role = static_cast<record::Role>(i);
    if (is_many(role)) continue;
    if (const record::Series* series = run.primary(role)) chosen.push_back(series);
  }
  std::set<std::string_view> names;
  for (const record::Series& series : run.series) {
    const bool plain = series.role == record::Role::other;
    const bool wanted = is_many(series.role) || (plain && series.nonfinite_count > 0) ||
                        (plain && part_of(series) != task::Part::none);
    if (!wanted || series.empty() || !names.insert(series.name).second) continue;
    if (names.size() > k_most_of_a_kind) break;
    chosen.push_back(run.find(series.name));
  }
  return chosen;
}

const double* number_setting(const record::Run& run, std::string_view name) {
  const record::Setting* setting = run.setting(name);
  return setting == nullptr ? nullptr : core::as_number(setting->value);
}

std::optional<std::int64_t> whole_setting(const record::Run& run, std::string_view name) {
  const double* value = number_setting(run, name);
  if (value == nullptr || !(*value >= 1) || *value > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> positive_setting(const record::Run& run, std::string_view name) {
  const double* value = number_setting(run, name);
  if (value == nullptr || !(*value > 0) || !std::isfinite(*value)) return std::nullopt;
  return *value;
}

bool says_reinforcement(record::Role role) {
  switch (role) {
    case record::Role::reward:
    case record::Role::reward_component:
    case record::Role::reward_std:
    case record::Role::frac_reward_zero_std:
    case record::Role::is_ratio_mean:
    case record::Role::clip_ratio:
    case record::Role::completion_length:
    case record::Role::completion_clipped_ratio:
      return true;
    default:
      return false;
  }
}

detectors::RunContext context_of(const record::Run& run,
                                 const std::vector<const record::Series*>& chosen,
                                 const record::Series& anchor) {
  detectors::RunContext context;
  for (const record::Series* series : chosen) {
    context.series_names.push_back(series->name);
    context.reinforcement = context.reinforcement || says_reinforcement(series->role);
  }
  context.step_kind = anchor.step_kind;
  context.planned_steps = whole_setting(run, "train.max_steps");
  context.log_steps = whole_setting(run, "log.steps");
  context.world_size = whole_setting(run, "dist.world_size");
  context.grad_clip = positive_setting(run, "optim.grad_clip");
  context.vocab_size = positive_setting(run, "model.vocab_size");
  std::set<int> ranks;
  for (const record::Series& series : run.series) {
    if (series.role == record::Role::loss && series.rank >= 0 && !series.empty())
      ranks.insert(series.rank);
  }
  context.ranks.assign(ranks.begin(), ranks.end());
  context.task = task::recognise(run);
  context.stages = task::stages_of(run);
  return context;
}

struct Key {
  std::uint16_t segment = 0;
  std::int64_t step = 0;
  auto operator<=>(const Key&) const = default;
};

/// Walks one series. Steps of another kind than the anchor's (an evaluation known by its epoch
/// only) are put where they stand in the artifact, or where that is not known spread evenly over
/// the run.
class Cursor {
 public:
  Cursor(const record::Series& series, const record::Series& shown_by, std::uint32_t id,
         const record::Series& anchor)
      : series_(series),
        shown_by_(shown_by),
        anchor_(anchor),
        part_(part_of(series)),
        id_(id),
        own_steps_(series.step_kind == anchor.step_kind && !counts_otherwise(series, anchor)) {
    place();
  }

  bool done() const { return at_ >= series_.size(); }
  const Key& key() const { return key_; }
  detectors::Reading reading() const {
    return {series_.role, id_, series_.value[at_], shown_by_.origin(at_), part_};
  }
  void advance() {
    ++at_;
    if (!done()) place();
  }

 private:
  /// Numbers of records that do not agree: a metric that only some of the records hold.
  static bool counts_otherwise(const record::Series& series, const record::Series& anchor) {
    return series.step_kind == record::StepKind::ordinal && series.source == anchor.source &&
           series.size() != anchor.size() && !anchor.empty() &&
           anchor.offset[anchor.size() - 1] > 0;
  }

  void place() {
    if (series_.empty()) return;
    if (own_steps_) {
      // Differences of steps must not overflow, whatever a log claims.
      constexpr std::int64_t k_most = std::int64_t{1} << 60;
      key_ = {series_.segment[at_], std::clamp(series_.step[at_], -k_most, k_most)};
      return;
    }
    const std::size_t last = anchor_.size() - 1;
    if (series_.source == anchor_.source && anchor_.offset[last] > 0) {
      while (anchor_at_ < last && anchor_.offset[anchor_at_ + 1] <= series_.offset[at_])
        ++anchor_at_;
    } else {
      anchor_at_ = std::min(last, (at_ + 1) * anchor_.size() / series_.size());
    }
    key_ = {anchor_.segment[anchor_at_], anchor_.step[anchor_at_]};
  }

  const record::Series& series_;
  const record::Series& shown_by_;  ///< the same samples where people can look them up
  const record::Series& anchor_;
  task::Part part_;
  std::uint32_t id_;
  bool own_steps_;
  std::size_t at_ = 0;
  std::size_t anchor_at_ = 0;
  Key key_;
};

const record::Series& anchor_of(const std::vector<const record::Series*>& chosen) {
  for (const record::Series* series : chosen) {
    if (series->role == record::Role::loss) return *series;
  }
  return **std::max_element(
      chosen.begin(), chosen.end(),
      [](const record::Series* a, const record::Series* b) { return a->size() < b->size(); });
}

/// The series whose lines stand in the file of `source`: the anchor, or the one that shows the same
/// records there (a log beside the trainer's state file). Null where there is none.
const record::Series* shown_in(const record::Run& run, const record::Series& anchor,
                               record::SourceId source) {
  if (anchor.source == source) return &anchor;
  for (const record::Series& series : run.series) {
    if (series.source == source && series.role == anchor.role && series.size() == anchor.size())
      return &series;
  }
  return nullptr;
}

/// Where an artifact says, between two records of the anchor, that a run is resumed.
std::vector<std::int64_t> resumed_steps(const record::Run& run, const record::Series& anchor) {
  std::vector<std::int64_t> steps;
  for (const record::Event& event : run.events) {
    if (event.kind != "resuming" && event.kind != "resuming-from-file") continue;
    const record::Series* shown = shown_in(run, anchor, event.origin.source);
    if (shown == nullptr) continue;
    const auto next =
        std::upper_bound(shown->offset.begin(), shown->offset.end(), event.origin.offset);
    if (next == shown->offset.begin() || next == shown->offset.end()) continue;
    const auto index = static_cast<std::size_t>(next - shown->offset.begin());
    if (anchor.segment[index] != anchor.segment[index - 1]) continue;  // seen by its steps
    if (steps.empty() || anchor.step[index] > steps.back()) steps.push_back(anchor.step[index]);
  }
  return steps;
}

/// A bank that has seen all of the Run; null where it holds nothing to see.
std::unique_ptr<DetectorBank> fed_with(const record::Run& run) {
  const std::vector<const record::Series*> chosen = choose(run);
  if (chosen.empty()) return nullptr;
  const record::Series& anchor = anchor_of(chosen);
  detectors::RunContext context = context_of(run, chosen, anchor);
  context.resumed_at = resumed_steps(run, anchor);
  auto bank = std::make_unique<DetectorBank>(std::move(context));
  std::vector<Cursor> cursors;
  cursors.reserve(chosen.size());
  for (std::uint32_t i = 0; i < chosen.size(); ++i)
    cursors.emplace_back(*chosen[i], run.shown_by(*chosen[i]), i, anchor);
  std::vector<detectors::Reading> readings;
  while (true) {
    const Cursor* first = nullptr;
    for (const Cursor& cursor : cursors) {
      if (!cursor.done() && (first == nullptr || cursor.key() < first->key())) first = &cursor;
    }
    if (first == nullptr) break;
    const Key key = first->key();
    readings.clear();
    // A step that a series gives twice makes two frames: each series has at most one reading in a
    // frame.
    for (Cursor& cursor : cursors) {
      if (cursor.done() || cursor.key() != key) continue;
      readings.push_back(cursor.reading());
      cursor.advance();
    }
    bank->observe({key.step, key.segment, readings});
  }
  return bank;
}

}  // namespace

std::vector<detectors::Symptom> detect(const record::Run& run) {
  const auto bank = fed_with(run);
  return bank == nullptr ? std::vector<detectors::Symptom>{} : bank->finish();
}

std::vector<detectors::Symptom> detect_so_far(const record::Run& run) {
  const auto bank = fed_with(run);
  return bank == nullptr ? std::vector<detectors::Symptom>{} : bank->so_far();
}

}  // namespace aplomb::detection

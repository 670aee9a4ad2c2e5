#pragma once
/// SpikeFinder: excursions of a series above its level, and which of them stand apart from its
/// noise. Shared by the loss and the gradient norm, which differ in scale (linear, logarithmic) and
/// in what counts as much.
///
/// A spike: an episode above 5 sigma whose peak is separated from all smaller deviations of this
/// very series by a gap that its tail does not explain (core/tail.h), so that heavy-tailed noise is
/// no row of spikes and thin-tailed noise hides none. Judged again at every question: what looked
/// like a spike among 40 samples may be noise among 4000.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/robust_trend.h"
#include "core/tail.h"
#include "detectors/support.h"

namespace aplomb::detectors {

struct Spike {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  Sample peak;
  Sample before;             ///< last sample before it
  double level = 0;          ///< where the series stood before
  double z = 0;              ///< height of the peak in sigma
  std::uint32_t length = 1;  ///< samples above
  bool recovered = false;
  std::int32_t id = 0;
  std::optional<std::int64_t> warned_at;  ///< step at which the companion series had begun to rise

  double ratio() const { return level > 0 ? peak.value / level : 1.0; }
};

class SpikeFinder {
 public:
  enum class Scale { linear, logarithmic };
  explicit SpikeFinder(Scale scale, double least_ratio)
      : scale_(scale), least_ratio_(least_ratio) {}

  /// `sample.value` finite (and > 0 on the logarithmic scale). True when an episode has just begun.
  bool add(const Sample& sample);
  /// The episode that began with the last sample: where its companion's early warning goes.
  Spike* opened() { return open_ ? &episodes_.back() : nullptr; }

  /// Spikes that stand apart, in order of their steps.
  std::vector<Spike> spikes() const;
  std::uint64_t count() const { return count_; }

 private:
  static constexpr double k_candidate = 5.0;  // sigma
  static constexpr double k_false_alarm =
      0.01;  // Student t3 noise over 3000 steps: under one run in 100 (bench)
  static constexpr int k_calm = 2;  // samples back at the level before an episode is over
  static constexpr std::uint32_t k_settled = 24;  // samples up before it is a level and no spike
  /// Of its height: what comes down to less was a stretch of bad data or a blow that healed in
  /// part, and no other mixture of data.
  static constexpr double k_most_left = 0.25;
  static constexpr std::size_t k_head = core::RobustTrend::k_warmup;
  static constexpr std::size_t k_most_episodes = 64;

  double scaled(double value) const;
  void start(const Sample& sample, const core::TrendJudgement& judgement);
  void go_on(const Sample& sample, const core::TrendJudgement& judgement);
  void end_episode(bool recovered);
  void head_spikes(std::vector<Spike>& found) const;

  Scale scale_;
  double least_ratio_;
  core::RobustTrend trend_;
  core::TailWatch tail_;
  std::vector<Spike> episodes_;  // the highest ones; back() is the open one while open_
  bool open_ = false;
  int calm_ = 0;
  double open_base_ = 0;  // scaled level and noise before the open episode
  double open_noise_ = 0;
  std::optional<std::int32_t> shifted_;  // episode that became a new level
  double shift_base_ = 0;
  double shift_noise_ = 0;
  double shift_peak_ = 0;
  std::int32_t next_id_ = 0;
  std::vector<Sample> head_;  // the samples that the trend cannot judge yet, and as many more
  Sample last_;
  std::uint64_t count_ = 0;
};

}  // namespace aplomb::detectors

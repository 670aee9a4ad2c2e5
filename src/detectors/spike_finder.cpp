#include "detectors/spike_finder.h"

#include <algorithm>
#include <cmath>

namespace aplomb::detectors {

double SpikeFinder::scaled(double value) const {
  return scale_ == Scale::linear ? value : std::log(value);
}

bool SpikeFinder::add(const Sample& sample) {
  ++count_;
  if (head_.size() < 2 * k_head) head_.push_back(sample);
  const core::TrendJudgement judgement = trend_.update(scaled(sample.value));
  bool began = false;
  if (judgement.judged) {
    if (open_) {
      go_on(sample, judgement);
    } else if (judgement.z > k_candidate) {
      start(sample, judgement);
      began = true;
    } else if (!shifted_ || judgement.z > -1) {
      tail_.add(std::fabs(judgement.z));  // the way back from a level is no noise
    }
    const double back_at =
        shift_base_ + std::max(3 * shift_noise_, k_most_left * (shift_peak_ - shift_base_));
    if (shifted_ && trend_.level() <= back_at) {
      for (Spike& episode : episodes_) {
        if (episode.id != *shifted_) continue;
        episode.recovered = true;
        episode.last_step = sample.step;
      }
      shifted_.reset();
    }
  }
  last_ = sample;
  return began;
}

void SpikeFinder::start(const Sample& sample, const core::TrendJudgement& judgement) {
  if (episodes_.size() >= k_most_episodes) {
    const auto least = std::min_element(episodes_.begin(), episodes_.end(),
                                        [](const Spike& a, const Spike& b) { return a.z < b.z; });
    episodes_.erase(least);
  }
  Spike spike;
  spike.first_step = sample.step;
  spike.last_step = sample.step;
  spike.peak = sample;
  spike.before = last_;
  spike.level = scale_ == Scale::linear ? judgement.level : std::exp(judgement.level);
  spike.z = judgement.z;
  spike.id = next_id_++;
  episodes_.push_back(spike);
  open_ = true;
  calm_ = 0;
  open_base_ = judgement.level;
  open_noise_ = judgement.noise;
}

void SpikeFinder::go_on(const Sample& sample, const core::TrendJudgement& judgement) {
  Spike& spike = episodes_.back();
  const double off = scaled(sample.value) - open_base_;
  if (off <= 3 * open_noise_) {
    tail_.add(std::fabs(judgement.z));
    if (++calm_ >= k_calm) end_episode(true);
    return;
  }
  calm_ = 0;
  ++spike.length;
  spike.last_step = sample.step;
  if (sample.value > spike.peak.value) {
    spike.peak = sample;
    spike.z = off / open_noise_;
  }
  const bool settled = spike.length >= k_settled && trend_.level() > open_base_ + 3 * open_noise_;
  if (judgement.shifted || settled) {
    shifted_ = spike.id;
    shift_base_ = open_base_;
    shift_noise_ = open_noise_;
    shift_peak_ = scaled(spike.peak.value);
    end_episode(false);
  }
}

void SpikeFinder::end_episode(bool recovered) {
  episodes_.back().recovered = recovered;
  tail_.add(episodes_.back().z, episodes_.back().id);
  open_ = false;
}

std::vector<Spike> SpikeFinder::spikes() const {
  std::vector<Spike> found;
  head_spikes(found);
  core::TailWatch tail = tail_;
  if (open_) tail.add(episodes_.back().z, episodes_.back().id);
  const std::size_t apart = tail.outliers(k_false_alarm);
  const auto largest = tail.largest().first(apart);
  for (const Spike& episode : episodes_) {
    const bool stands_apart =
        std::any_of(largest.begin(), largest.end(),
                    [&](const core::TailWatch::Entry& entry) { return entry.id == episode.id; });
    // What never came down is a new level, not a spike.
    const bool new_level = shifted_ && *shifted_ == episode.id;
    const bool much = episode.level > 0 ? episode.ratio() >= least_ratio_ : true;
    if (!stands_apart || !much || new_level) continue;
    found.push_back(episode);
    if (open_ && episode.id == episodes_.back().id) found.back().recovered = calm_ > 0;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Spike& a, const Spike& b) { return a.first_step < b.first_step; });
  return found;
}

/// The first samples have no level before them: each is held against its neighbours on both sides,
/// and must be three times both. The very first may well be a hundred times the second (a toy
/// problem): only a value that no fresh model has counts there. Where the head gets as high once
/// more, that is how these values scatter.
void SpikeFinder::head_spikes(std::vector<Spike>& found) const {
  constexpr double k_neighbours = 3.0;
  constexpr double k_first = 100.0;
  constexpr double k_as_high = 0.75;     // of the height; judgement
  constexpr std::size_t k_shoulder = 2;  // samples behind a spike that still belong to it
  const auto comes_again = [&](std::size_t i, double level) {
    const double height = level + k_as_high * (head_[i].value - level);
    return std::any_of(
        head_.begin() + static_cast<std::ptrdiff_t>(std::min(i + k_shoulder + 1, head_.size())),
        head_.end(), [&](const Sample& later) { return later.value >= height; });
  };
  for (std::size_t i = 0; i < std::min(head_.size(), k_head); ++i) {
    const std::size_t following = std::min<std::size_t>(head_.size() - i - 1, 5);
    if (following < 2) break;
    core::SortedWindow<8> after;
    for (std::size_t j = i + 1; j <= i + following; ++j) after.push(head_[j].value);
    double before = 0;
    for (std::size_t j = i > 3 ? i - 3 : 0; j < i; ++j) before = std::max(before, head_[j].value);
    const double level = std::max(after.median(), before);
    const double wanted = std::max(least_ratio_, i == 0 ? k_first : k_neighbours);
    if (!(level > 0) || head_[i].value < wanted * level) continue;
    if (i == 0 && head_[i].value < k_first) continue;
    if (comes_again(i, level)) continue;
    Spike spike;
    spike.first_step = head_[i].step;
    spike.last_step = head_[i].step;
    spike.peak = head_[i];
    spike.before = head_[i > 0 ? i - 1 : 0];
    spike.level = level;
    spike.z = (head_[i].value - level) / std::max(after.spread(), 0.05 * level);
    spike.recovered = true;
    spike.id = -1;
    found.push_back(spike);
  }
}

}  // namespace aplomb::detectors

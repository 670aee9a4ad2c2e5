#pragma once
/// The curves on which spike rules are compared, and the two published rules to beat, restated from
/// their public descriptions. Shared by the test and the benchmark.
///
/// Curves: level 2, noise 0.05, 3000 steps; the event at the step named. PaLM-like spikes of one
/// batch, a fast and a slow climb, an early spike, a second spike soon after a first, a spike after
/// a NaN; and three curves on which nothing is wrong.

#include <aplomb/guard.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace aplomb::test {

struct Curve {
  std::string_view name;
  std::vector<double> samples;
  int onset = -1;        ///< step of the event; -1: nothing is wrong
  int over = -1;         ///< the last step at which an answer to it still makes sense
  int first_event = -1;  ///< an earlier event, whose answer is no false alarm
};

inline std::vector<Curve> spike_curves(std::uint64_t seed) {
  constexpr int k_steps = 3000;
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> t3(3);
  const auto noisy = [&](double sigma) {
    std::vector<double> samples(k_steps);
    for (double& sample : samples) sample = 2.0 + sigma * normal(engine);
    return samples;
  };
  const auto ramp = [&](double to) {
    auto samples = noisy(0.05);
    for (int i = 0; i < 1500; ++i)
      samples[1000 + static_cast<std::size_t>(i)] += (to - 2) * i / 1500.0;
    for (std::size_t i = 2500; i < k_steps; ++i) samples[i] += to - 2;
    return samples;
  };
  const auto with = [&](std::initializer_list<std::pair<std::size_t, double>> events) {
    auto samples = noisy(0.05);
    for (const auto& [at, value] : events) samples[at] = value;
    return samples;
  };
  constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Curve> curves = {
      {"spike 2 -> 4, one step", with({{1000, 4.0}}), 1000, 1000},
      {"spike 2 -> 8, one step", with({{1000, 8.0}}), 1000, 1000},
      {"ramp 2 -> 10 over 1500 steps", ramp(10), 1000, 2999},
      {"climb 2 -> 3.5 over 1500 steps", ramp(3.5), 1000, 2999},
      {"spike at step 30", with({{30, 8.0}}), 30, 30},
      {"second spike 40 steps after a first", with({{1000, 8.0}, {1040, 5.0}}), 1040, 1040, 1000},
      {"NaN at 1000, spike at 1060", with({{1000, k_nan}, {1060, 8.0}}), 1060, 1060, 1000},
      {"healthy: level shift 2 -> 2.6", noisy(0.05)},
      {"healthy: Student t3 noise", noisy(0)},
      {"healthy: 15 % noise", noisy(0.3)},
  };
  for (std::size_t i = 1500; i < k_steps; ++i) curves[7].samples[i] += 0.6;
  for (double& sample : curves[8].samples) sample += 0.05 * t3(engine);
  return curves;
}

/// Acts or not on the next sample.
using SpikeRule = std::function<bool(double)>;

/// OLMo-core's SkipStepOptimizer: no update where the value is above mean + 6 sigma of the last 128
/// before it; nothing in the first 64.
inline SpikeRule olmo_rule() {
  auto window = std::make_shared<std::deque<double>>();
  return [window](double sample) {
    window->push_back(sample);
    if (window->size() > 129) window->pop_front();
    if (window->size() < 64) return false;
    const auto count = static_cast<double>(window->size() - 1);
    double mean = 0;
    for (std::size_t i = 0; i + 1 < window->size(); ++i) mean += (*window)[i] / count;
    double variance = 0;
    for (std::size_t i = 0; i + 1 < window->size(); ++i)
      variance += ((*window)[i] - mean) * ((*window)[i] - mean) / (count - 1);
    return !(sample - mean <= 6 * std::sqrt(variance));
  };
}

/// ZClip: EMA of mean and variance (alpha 0.97) after 25 warm-up samples; above z 2.5 the value is
/// clipped to mean + z0^2 / z * sigma, and the clipped one enters the EMA.
inline SpikeRule zclip_rule() {
  struct State {
    std::vector<double> warmup;
    double mean = 0;
    double variance = 0;
  };
  auto state = std::make_shared<State>();
  return [state](double sample) {
    constexpr double k_alpha = 0.97;
    constexpr double k_threshold = 2.5;
    constexpr std::size_t k_warmup = 25;
    if (state->warmup.size() < k_warmup) {
      state->warmup.push_back(sample);
      if (state->warmup.size() < k_warmup) return false;
      for (const double each : state->warmup) state->mean += each / k_warmup;
      for (const double each : state->warmup)
        state->variance += (each - state->mean) * (each - state->mean) / k_warmup;
      return false;
    }
    const double sigma = std::sqrt(state->variance);
    const double z = (sample - state->mean) / (sigma + 1e-6);
    const bool acts = z > k_threshold;
    const double taken = acts ? state->mean + k_threshold * k_threshold / z * sigma : sample;
    state->mean = k_alpha * state->mean + (1 - k_alpha) * taken;
    state->variance =
        k_alpha * state->variance + (1 - k_alpha) * (taken - state->mean) * (taken - state->mean);
    return acts;
  };
}

/// This guard, fed with the loss alone.
inline SpikeRule guard_rule(const GuardOptions& options = {}) {
  auto guard = std::make_shared<Guard>(options);
  auto step = std::make_shared<std::int64_t>(0);
  return [guard, step](double sample) {
    const GuardVerdict verdict = guard->step({.step = (*step)++, .loss = sample});
    return verdict.action != GuardAction::proceed || verdict.lr_factor < 1;
  };
}

/// This guard, fed with the curve as its gradient norm.
inline SpikeRule guard_norm_rule(const GuardOptions& options = {}) {
  auto guard = std::make_shared<Guard>(options);
  auto step = std::make_shared<std::int64_t>(0);
  return [guard, step](double sample) {
    const GuardGroup group =
        std::isfinite(sample) ? GuardGroup{0, sample * sample} : GuardGroup{1, 0};
    return guard->step({.step = (*step)++, .groups = {&group, 1}}).action != GuardAction::proceed;
  };
}

struct Score {
  bool hit = false;
  int late = -1;         ///< steps after the onset
  int false_alarms = 0;  ///< steps acted on before the onset (or at all), but for first_event
};

/// A rule that acts at the onset because it has acted on every step before it sees nothing: that
/// is counted as false alarms, and as no hit.
inline Score score(const Curve& curve, const SpikeRule& rule) {
  Score result;
  bool blind = false;
  for (int i = 0; i < static_cast<int>(curve.samples.size()); ++i) {
    const bool acts = rule(curve.samples[static_cast<std::size_t>(i)]);
    const bool in_event = curve.onset >= 0 && i >= curve.onset && i <= curve.over;
    if (in_event && acts && !result.hit && !blind) {
      result.hit = true;
      result.late = i - curve.onset;
    }
    // After the onset of a climb the series is another one: acts there count for the hit only.
    const bool counts =
        curve.onset < 0 || i < curve.onset || (curve.over == curve.onset && i > curve.over);
    if (acts && counts && i != curve.first_event) ++result.false_alarms;
    blind = acts && !in_event && i != curve.first_event;
  }
  return result;
}

}  // namespace aplomb::test
